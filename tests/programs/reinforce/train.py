"""Advantage actor-critic on a cart that has to balance a pole; the environment is numpy, the agent on the GPU."""

import numpy as np
import torch
import torch.nn as nn
import torch.optim as optim
from torch.distributions.categorical import Categorical


class CartPole:
    def __init__(self, seed):
        self.rng = np.random.default_rng(seed)

    def reset(self):
        self.state = self.rng.uniform(-0.05, 0.05, 4).astype(np.float32)
        return self.state

    def step(self, action):
        x, v, theta, omega = self.state
        force = 10.0 if action == 1 else -10.0
        sin, cos = np.sin(theta), np.cos(theta)
        push = (force + 0.05 * omega ** 2 * sin) / 1.1
        turn = (9.8 * sin - cos * push) / (0.5 * (4 / 3 - 0.1 * cos ** 2 / 1.1))
        self.state = np.array([x + 0.02 * v, v + 0.02 * push, theta + 0.02 * omega, omega + 0.02 * turn], np.float32)
        return self.state, 1.0, bool(abs(self.state[2]) > 0.2)


def layer_init(layer, std=np.sqrt(2)):
    torch.nn.init.orthogonal_(layer.weight, std)
    torch.nn.init.constant_(layer.bias, 0.0)
    return layer


class Agent(nn.Module):
    def __init__(self):
        super().__init__()
        self.body = nn.Sequential(layer_init(nn.Linear(4, 32)), nn.Tanh(), layer_init(nn.Linear(32, 32)), nn.Tanh())
        self.actor, self.critic = layer_init(nn.Linear(32, 2), std=0.01), layer_init(nn.Linear(32, 1), std=1)

    def act(self, obs):
        hidden = self.body(obs)
        probs = Categorical(logits=self.actor(hidden))
        action = probs.sample()
        return action, probs.log_prob(action), probs.entropy(), self.critic(hidden)


def main(gamma=0.97, updates=6, horizon=16, cuda=True):
    torch.manual_seed(1)
    torch.backends.cudnn.deterministic = True
    device = torch.device("cuda" if torch.cuda.is_available() and cuda else "cpu")
    env, agent = CartPole(seed=1), Agent().to(device)
    optimizer = optim.Adam(agent.parameters(), lr=3e-3, eps=1e-5)
    obs, episodes, length = env.reset(), [], 0
    for update in range(updates):
        rewards, dones = torch.zeros(horizon).to(device), torch.zeros(horizon).to(device)
        logprobs, entropies, values = [], [], []
        for t in range(horizon):
            action, logprob, entropy, value = agent.act(torch.Tensor(obs).to(device))
            obs, reward, done = env.step(action.cpu().numpy())
            rewards[t], dones[t] = reward, float(done)
            logprobs.append(logprob), entropies.append(entropy), values.append(value.view(()))
            length += 1
            if done:
                episodes.append(length)
                obs, length = env.reset(), 0
        with torch.no_grad():
            following = agent.act(torch.from_numpy(obs).to(device))[3].view(())
            returns = torch.zeros_like(rewards)
            for t in reversed(range(horizon)):
                following = rewards[t] + gamma * following * (1.0 - dones[t])
                returns[t] = following
        advantages = returns - torch.stack(values)
        policy = -(torch.stack(logprobs) * advantages.detach()).mean()
        loss = policy + 0.5 * advantages.pow(2).mean() - 0.01 * torch.stack(entropies).mean()
        optimizer.zero_grad()
        loss.backward()
        nn.utils.clip_grad_norm_(agent.parameters(), 0.5)
        optimizer.step()
        print(f"update={update} loss={loss.item():.5f} episodes={episodes}")


if __name__ == "__main__":
    main()
