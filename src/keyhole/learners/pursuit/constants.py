"""One set of constants, the same for all data. docs/research/pursuit.md tells what was tried for each."""

#: Examples in the first blocks, ...
FIRST_BLOCK = 10
#: ... and in the smallest later ones.
SMALL_BLOCK = 15
#: A block is at most this share of the examples so far ...
BLOCK_SHARE = 0.005
#: ... and at most this many while that share is still small, ...
EARLY_BLOCK = 20
#: ... and adds at most this share to what is known about the attributes that it scouts.
BLOCK_INFORMATION = 0.25
#: This share of all attributes may be scouted, block after block, before they are ranked anew.
ROUND_SHARE = 0.05
#: Decisions are taken after so many examples, ...
DECIDE_AFTER = 75
#: ... but not before they are this share of all, nor, at first, after they are that, ...
SOONEST, LATEST = 0.02, 0.1
#: ... and after this share while the published attributes have not changed since there were that share of the examples.
CALM_LATEST, CALM = 0.05, 0.7

#: When another thousand examples cannot gain more than this share of the error, there is no hurry any more, unless the
#: run is to stop by itself and has not come to that yet:
SETTLED = 0.015
#: blocks may be this share of the examples so far,
SETTLED_BLOCK_SHARE = 0.08
#: and decisions are taken when there are this share more.
SETTLED_LATEST = 0.25

#: A score of more standard errors than this earns a seat; in wide tables it takes more, so that by chance there are
#: never more than so many who earn one.
Z_SEAT, FLUKES = 2.1, 8
#: It takes more than this to be given the last look of all, after which there are no scouts.
Z_LAST = 4.0
#: Matched t to enter the core, and to stay in it.
T_ADD, T_DROP = 3.0, 2.0
#: A seat that is not in the core is given up when its matched t is less than this share of what earns a seat.
LEAVE_SHARE = 0.75
#: Where the predictor is full, a member of the core that is in it counts for so many times as much, ...
INCUMBENT = 2.0
#: ... and who would take a place in it for so many standard errors less than it seems: it was chosen for that.
NEWCOMER = 2.0
#: A member with more than this is there for good.
T_CLEAR = 4.0
#: One with less must have more than this, ...
T_LIKELY = 3.5
#: ... and has to prove itself: this share of the examples behind it must have come since it sat down.
PROVED = 0.6
#: Of who has not, and of a seat that takes a place which the core leaves in the predictor, this share counts.
LIKELY = 0.5
#: Where there are more clear members than places, who has all in common with them is in doubt by so many times more.
ALIKE = 2.0
#: A seat that is less likely than this to matter is neither in the working model nor published, ...
LIKELY_ENOUGH = 0.3
#: ... but for one that is published, which may be this unlikely.
LIKELY_STILL = 0.2
#: Of what is believed of a seat, this share is published.
BELIEVED = 0.8
#: Nothing is believed of a seat, beyond what was decided, whose score has fewer degrees of freedom than this.
HANDFUL = 5.0
#: The share of the looks that the core may take.
CORE_SHARE = 0.8

#: A covariance is taken at face value when its squared t exceeds this, else shrunk.
VISIBLE_T2 = 16.0
#: So few of all pairs may seem to go along with each other where none do.
ALIKE_BY_CHANCE = 1e-3
#: What is expected of one counts for at most so many examples.
LARGEST_PRIOR = 30000.0
#: Where looks so far say less than this beside one of today, they count for less, ...
STALE = 0.7
#: ... but never for less than this, or nothing would be left of them when the core changes again.
LEAST = 0.2
#: How correlated attributes are in general is learned from about this many of them.
ENOUGH_ATTRIBUTES = 250
#: An attribute with less than this share of its variance beyond the model is a copy of what is in it.
COPY = 0.03
#: A residual counts as at most so many standard deviations.
WILD = 10.0
#: What is unexpected in a target counts as at most so many.
WILD_TARGET = 30.0
#: Predictions may be farther out than any target so far, by this share of the distance from the lowest to the highest,
#: or by so many times what it has grown by at once since there were so many examples.
FARTHER_OUT, LEAPS, ENOUGH_TARGETS = 0.1, 2.0, 100
#: Two estimates of the same coefficients may be apart by so many times what is expected by chance, and are the same.
SAME = 2.0
#: As many of the latest blocks are kept as could show every attribute so many times, but no more than that.
LATEST_LOOKS, MOST_BLOCKS = 4, 400
#: How many epochs are kept apart before the least informative two are joined.
MAX_EPOCHS = 24
#: Two are joined all the same when that loses no more than this share of what is known about anybody.
NEGLIGIBLE = 0.08
#: A newcomer that varied so many times as much before it sat down as since has wild values, which will come again.
WILDER = 16.0
#: Pseudo-examples that keep small regressions solvable.
RIDGE = 1.0

#: At least this share of the residual's variance is thought to be there where nothing is missing.
LEAST_COMPLETE = 0.1
#: While missing values add less than this share to it, all examples count the same.
SAME_WORTH = 0.01

#: A support is stable that has not changed since there were this share of the examples.
STABLE = 0.5

#: So many attributes are scored at a time, that what is needed for it stays in the processor's cache.
TOGETHER = 1024
#: A variance of less is that of a constant.
NO_VARIANCE = 1e-150
#: So is a spread of no more than this share of the mean.
ROUNDING = 1e-13
#: Keeps what is divided by away from zero.
TINY = 1e-300
