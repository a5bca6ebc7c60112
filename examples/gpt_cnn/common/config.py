"""Options from a YAML file and from the command line, which wins."""


def parse_options(parser, argv=None):
    parser.add_argument("--config", help="a YAML file; options on the command line win")
    args = parser.parse_args(argv)
    if args.config:
        import yaml

        with open(args.config) as file:
            parser.set_defaults(**yaml.safe_load(file))
        args = parser.parse_args(argv)
    return args
