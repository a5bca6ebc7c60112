def behind(torch, aten):
    return {"apis": {}, "steps": {}}
