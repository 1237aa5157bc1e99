"""The checks, each of one property: from an insight to a judgement.

shared, masks       for functions and for modules
plain, gradients, functions, forward_only
                    for functions alone: plain calls, options, kernels of inference
inside, causal, context, chance, cache
                    for modules alone
"""
