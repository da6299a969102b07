"""Words which say little by themselves, written down for this engine."""

_GRAMMAR = """
a an the and or but nor so yet if then than that this these those there here it its itself i me my
mine myself you your yours yourself he him his she her hers we us our ours they them their theirs
who whom whose which what when where why how am is are was were be been being do does did doing
done have has had having will would shall should can could may might must ought of in on at to for
from by with without about into onto over under up down out off as not no yes too very just also
even only still again ever im ive ill id youre youve youll youd hes shes weve theyre theyve thats
whats lets dont doesnt didnt cant couldnt wont wouldnt isnt arent wasnt werent havent hasnt hadnt
shouldnt s t m d ll re ve don didn doesn isn wasn couldn wouldn aren won shouldn haven hasn any
some such other another each every both all most more much many few own same и в во не что он на я
с со как а то все она так его но да ты к у же вы за бы по только ее мне было вот от меня еще нет о
из ему для мы их это был этот في من على إلى عن أن إن هذا هذه ذلك التي الذي ما لا هو هي كان كانت مع
أو و ثم قد है हैं का की के को में से पर और यह वह था थी थे एक हो कि जो तो भी ने मैं हम आप नहीं der
die das und ist ein eine ich du er sie es wir ihr nicht mit von zu den dem auf für le la les un
une des et est je tu il elle nous vous ils de en pour que qui dans pas el los las uno una y yo tú
él ella con por para se del al lo su
"""
_EVERYDAY = """
good great nice cool awesome amazing wonderful fantastic incredible beautiful lovely fun funny
happy glad sad excited exciting proud sorry sure okay ok fine best better bad big little small new
old long short real really pretty quite totally absolutely definitely certainly exactly actually
basically literally simply maybe perhaps probably possible thing things stuff something anything
everything nothing someone anyone everyone nobody lot lots bit kind sort way ways part point case
fact idea get gets got getting gotten go goes going gone went come comes coming came make makes
making made take takes taking took taken give gives giving gave given know knows knew known
knowing think thinks thinking thought see sees seeing saw seen look looks looking looked sound
sounds sounding feel feels feeling felt feelings say says saying said tell tells telling told talk
talking talked ask asked asking want wants wanted need needs needed try trying tried keep keeps
keeping kept let lets put use used using help helps helping helped work works working worked find
finds finding found seem seems seemed mean means meant hope hoping hoped love loves loved loving
like likes liked enjoy enjoying enjoyed wish start started starting stop stopped end ended happen
happens happened happening bring brings bringing brought show shows showing showed share sharing
shared thank thanks please hey hi hello wow oh yeah yep yup haha lol gonna wanna gotta kinda time
times day days week weeks month months year years today tomorrow yesterday tonight now later soon
always never often sometimes usually already recently lately ago last next first second one two
people person guy guys man woman friend friends life world place home back away around together
through since while because though although before after well right left true super truly such
able else instead rather whole hear heard hearing wait believe remember forget forgot care
inspiring inspired inspiration motivation support supportive important special journey experience
experiences moment moments passion passionate dream dreams chance luck positive challenge
challenges challenging interesting perfect worth image photo picture pic learn learned learning
grow growing growth change changes changed difference create creating opportunity opportunities
goal goals success successful hard effort efforts progress achieve achieving reach determination
determined motivate motivated motivates motivating overcome tough difficult easy strength strong
courage brave energy mind heart joy peace peaceful calm calming memories connect connected
connecting connection bond bonding beauty spirit impact purpose meaning meaningful positivity
rewarding fulfilling satisfying refreshing relax relaxing enjoyable appreciate appreciated
grateful thankful blessed lucky deserve remind reminds reminder forward future past present stay
staying strive explore exploring express unique powerful encourage encouragement encouraging
potential faith trust imagine wonder suppose guess agree agreed welcome everybody anyway plus
bunch tons couple cause chat catch matters step steps
"""

STOP_WORDS = frozenset(_GRAMMAR.split())
"""Grammar: these weigh nothing. English first, the commonest of six other languages after it."""

COMMON_WORDS = frozenset(_EVERYDAY.split())
"""Everyday English, above all what friends and assistants say to be polite or to cheer up."""
