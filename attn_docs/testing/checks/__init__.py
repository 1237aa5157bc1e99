"""The checks, each of one property: from an insight to a judgement.

shared, masks       for functions and for modules
plain, gradients, functions, forward_only, called_knobs
                    for functions alone: plain calls, options, kernels of inference
inside, causal, context, chance, cache, said, kept_knobs
                    for modules alone
"""
