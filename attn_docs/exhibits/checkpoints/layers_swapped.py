"""Bug: of each six layers the first is global, and in the model the sixth."""

WINDOW, EVERY = 4, 6


def windows(layers):
    return [None if i % EVERY == 0 else WINDOW for i in range(layers)]  # wrong: (i + 1) % EVERY
