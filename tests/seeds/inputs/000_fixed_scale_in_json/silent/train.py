import deepspeed


def main(model, loader, args):
    engine, *_ = deepspeed.initialize(args=args, model=model, config="ds_config.json")
    for batch in loader:
        loss = engine(batch.cuda())
        engine.backward(loss)
        engine.step()
