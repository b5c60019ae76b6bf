"""One set of constants, the same for all data. docs/research/pursuit.md tells what was tried for each."""

#: Examples in the first blocks, and in the smallest later ones.
SMALL_BLOCK = 10
#: A block is at most this share of the examples so far ...
BLOCK_SHARE = 0.02
#: ... and at most this many while that share is still small, ...
EARLY_BLOCK = 20
#: ... and adds at most this share to what is known about the attributes that it scouts.
BLOCK_INFORMATION = 0.5
#: Decisions are taken when there are this many times as many examples as at the last.
DECIDE_EVERY = 1.05

#: Standard errors of optimism when scouts are ranked.
OPTIMISM = 0.7
#: A score of more standard errors than this earns a seat.
Z_SEAT = 2.5
#: Matched t to enter the core, and to stay in it.
T_ADD, T_DROP = 3.0, 2.0
#: A seat with less than this that is not in the core is given up.
T_LEAVE = 1.5
#: A member with more than this is there for good.
T_CLEAR = 5.0
#: The share of the looks that the core may take.
CORE_SHARE = 0.8

#: A covariance is taken at face value when its squared t exceeds this, else shrunk.
VISIBLE_T2 = 9.0
#: An attribute with less than this share of its variance beyond the model is a copy of what is in it.
COPY = 0.03
#: How many epochs are kept apart before the least informative two are joined.
MAX_EPOCHS = 24
#: Two are joined all the same when that loses no more than this share of what is known about anybody.
NEGLIGIBLE = 0.01
#: Pseudo-examples that keep small regressions solvable.
RIDGE = 1.0

#: A support is stable that has not changed since there were this share of the examples.
STABLE = 0.5

#: Keeps what is divided by away from zero.
TINY = 1e-300
