"""The checks, each of one property: from an insight to a judgement.

shared, masks       for functions and for modules
functions           for functions alone
inside, causal, context, chance, cache
                    for modules alone
"""
