"""Bug: the GRU takes the batch for the time, so the sentences of a batch flow into each other."""

from torch import nn


def make_encoder(input_size, hidden_size):
    return nn.GRU(input_size, hidden_size)  # wrong: batch_first=True is missing


def encode(encoder, words):  # words: b n input_size
    states, _ = encoder(words)
    return states  # b n hidden_size
