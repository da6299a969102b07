"""Phrases which tell what a sentence is good for, in several languages."""

import re
from enum import Enum


class Cue(Enum):
    """What a sentence announces; the value is the name used in explanations."""

    CONSTRAINT = "constraint"
    CORRECTION = "correction"
    PREFERENCE = "preference"
    DECISION = "decision"
    REQUEST = "request"
    FACT = "fact"
    NAMING = "naming"
    TIME = "time"
    AMOUNT = "amount"
    LISTING = "listing"
    HEALTH = "health"
    IDENTIFIER = "identifier"
    MONEY = "money"


_CONSTRAINT = re.compile(
    r"(?:^|: )(?:(?:please|also|and|but|so|ok|okay|remember|important|note|rule"
    r"|one (?:more )?thing)[,:!]?"
    r" (?:that )?)*"
    r"(?:never(?! (?:mind|too|been|had|seen|heard|knew|thought|again|ever|a |the |gets?\b"
    r"|stop|give up|let ))"
    r"|always(?! (?:been|had|a |the |thought|loved|wanted|good|nice|great|so |here|there))"
    r"|(?:do not|don['’]t) ever|under no circumstances)\b"
    r"|\b(?:you|it|we|answers?|repl(?:y|ies)|the assistant)"
    r" (?:must|should|may|shall) (?:never|always|not)\b"
    r"|\byou must\b(?! (?:have|feel|love|like|miss|enjoy|see|try|be (?:so|very|really|proud|happy"
    r"|excited|tired))\b)"
    r"|\bmust (?:not|never|always)\b|\bfrom now on\b|\bunder no circumstances\b"
    r"|\bmake sure (?:that )?(?:you|to)\b.{0,20}\b(?:never|always)\b"
    r"|\b(?:please|i need you to|i want you to) (?:never|always|do not|don['’]t)\b"
    r"|\b(?:never|do not|don['’]t) (?:mention|reveal|disclose|delete|share with|tell anyone)\b"
    r"|(?:永远|绝对|千万)不要|不要再|务必|请(?:始终|总是|一直|不要|勿)|从现在起|今后"
    r"|必ず.*(?:ください|こと)|決して|今後は|絶対に"
    r"|\bникогда не\b|\bвсегда (?:\w+(?:й|йте|ть))\b|\bотныне\b|\bни в коем случае\b"
    r"|لا .{0,20}أبدا|أبدًا|يجب (?:ألا|عدم|دائم)|دائما|من الآن فصاعد"
    r"|कभी .{0,40}(?:न|मत|नहीं)(?= )|हमेशा|अब से"
    r"|ห้าม|อย่า|ต้อง.*เสมอ|จากนี้ไป",
    re.IGNORECASE,
)
_CORRECTION = re.compile(
    r"\bactually,|^actually\b|\bno longer\b|\bnot any ?more\b|\bchanged (?:to|from|my|our|it)\b"
    r"|\binstead of\b|\binstead[.,!]|\bcorrection\b|\bi was wrong\b|\bi meant\b|\brather than\b"
    r"|\bmoved to\b|\bswitched to\b|\bnow it['’]?s\b|\bscratch that\b|\bused to\b"
    r"|\bnot .{1,30} but\b"
    r"|不再|改成|改为|其实|更正|而不是|ではなく|変更|実は"
    r"|\bбольше не\b|\bна самом деле\b|\bвместо\b|\bтеперь\b"
    r"|لم يعد|بدلا من|في الواقع|تصحيح|दरअसल|के बजाय|बदल|अब नहीं|จริงๆ ?แล้ว|แทน|เปลี่ยนเป็น"
    r"|ไม่ใช่แล้ว",
    re.IGNORECASE,
)
_PREFERENCE = re.compile(
    r"\b(?:prefer(?:s|red)?|favou?rites?|hates?|hated|dislikes?|can['’]?t stand|allergic|fan of"
    r"|rather|into|love[sd]?|likes?|enjoy(?:s|ed)?|interested in|keen on|big on)\b"
    r"|喜欢|喜歡|讨厌|偏好|更愿意|爱吃|过敏|好き|嫌い"
    r"|\b(?:люблю|нравится|предпочита\w+|ненавижу|обожаю)\b"
    r"|أفضل|أحب|أكره|يعجبني|पसंद|नापसंद|प्यार|ชอบ|เกลียด|รัก|แพ้",
    re.IGNORECASE,
)
_DECISION = re.compile(
    r"\b(?:decided?|decision|agreed?|chose|chosen|choose|going to|plan(?:s|ned|ning)?|will|we['’]ll"
    r"|i['’]ll|let['’]s|deadline|due|scheduled?|booked|signed up|applied|committed|final(?:ly|ised"
    r"|ized)?|goals?|promise[ds]?|gonna|thinking (?:of|about))\b"
    r"|决定|計画|计划|打算|约定|同意|決め|予定|つもり"
    r"|\b(?:реши\w+|план\w*|договорил\w+|собираюсь|буду)\b"
    r"|قرر|سوف|خطة|اتفقنا|फैसला|योजना|तय|ตัดสินใจ|วางแผน|ตกลงว่า|จะไป",
    re.IGNORECASE,
)
_REQUEST = re.compile(
    r"\b(?:please|can you|could you|would you|i need|i want|i['’]d like|we need|remind me|remember"
    r"|help me|make sure|i must|want to|need to|have to)\b"
    r"|请|需要|想要|帮我|提醒|ください|お願い|必要"
    r"|\b(?:пожалуйста|нужно|хочу|надо|помоги\w*|напомни\w*)\b"
    r"|من فضلك|أريد|أحتاج|ساعدني|कृपया|चाहिए|चाहता|चाहती|मदद|กรุณา|ช่วย|อยาก|ต้องการ|โปรด",
    re.IGNORECASE,
)
_FACT = re.compile(
    r"\b(?:name(?:d|s)? (?:is|are|was)?|named|called|i['’]m an?|i am an?"
    r"|work(?:s|ed|ing)? (?:at|for|as|in|on)"
    r"|live[sd]? (?:in|at)|born|birthday|married|engaged|lives?|years? old|moved|bought|got an?"
    r"|have an?|has an?|studied|studying|graduated|joined|started|won|finished|wrote|met|visited"
    r"|went|made|took|read|saw|lost|found|owns?|uses?|using|costs?|equals?|is located|address|phone"
    r"|email|because|since|for the first time|reminds?|represents?|stands? for|symboli[sz]e[sd]?)\b"
    r"|我叫|名字|我是|住在|工作|生日|地址|电话|名前|住んで|働いて"
    r"|\b(?:зовут|работаю|живу|родил\w+|купил\w*|адрес|телефон)\b"
    r"|اسمي|أعمل|أسكن|ولدت|عنوان|मेरा नाम|काम करत|रहत|जन्म|पता|ชื่อ|ทำงาน|อาศัย|เกิด|ที่อยู่",
    re.IGNORECASE,
)
_NAMING = re.compile(
    r"\b(?:called|named|titled|nicknamed|known as|name(?:s|['’]s)? (?:is|are|was))\b"
    r"|[\"“«「『《][^\"”»」』》]{2,60}[\"”»」』》]"
    r"|叫做|名叫|という名|\bназывается\b|\bпо имени\b|اسمه|اسمها|नाम है|ชื่อว่า",
    re.IGNORECASE,
)
_TIME = re.compile(
    r"\b(?:yesterday|today|tonight|tomorrow|recently|ago|weekends?|(?:mon|tues|wednes|thurs|fri"
    r"|satur"
    r"|sun)days?|(?:last|next|this|every|each|per|a) (?:night|week|month|year|summer|winter|spring"
    r"|fall|autumn|fri|sat|sun|mon|time)|january|february|march|april|june|july|august|september"
    r"|october|november|december|birthday|anniversary|(?:1[0-2]|[1-9]) ?[ap]\.?m)\b"
    r"|昨天|今天|明天|上周|下周|去年|明年|每天|昨日|今日|明日|先週|来週|\b(?:вчера|сегодня|завтра|недел\w+)\b"
    r"|أمس|اليوم|غدا|الأسبوع|कल|आज|हफ्ते|เมื่อวาน|วันนี้|พรุ่งนี้|สัปดาห์",
    re.IGNORECASE,
)
_AMOUNT = re.compile(
    r"[0-9０-９०-९٠-٩๐-๙]|\b(?:two|three|four|five|six|seven|eight|nine|ten|eleven|twelve|dozens?"
    r"|hundreds?|thousands?|twice|once a|half)\b",
    re.IGNORECASE,
)
_LISTING = re.compile(
    r"[^,，、]{2,40}(?:, |，|、)[^,，、]{2,40}(?:, (?:and |or )?|，|、|,? (?:and|or) )[^,，、]{2}"
)
_HEALTH = re.compile(
    r"\b(?:allerg\w+|anaphyla\w+|intoleran\w+|hives|coeliac|celiac|diabet\w+|insulin|asthma\w*"
    r"|epilep\w+"
    r"|vegan|vegetarian|pescatarian|kosher|halal|(?:gluten|lactose|dairy|nut)[- ]free|pregnan\w+"
    r"|medication|penicillin|antibiotics?|blood (?:type|pressure|thinner\w*)|epipen|pacemaker"
    r"|wheelchair|deaf|colou?r[- ]?blind|dyslexi\w+|phobia)\b"
    r"|\b(?:can(?:not|['’]t)) (?:eat|drink|have|digest|tolerate|take|hear|see|walk|lift)\b"
    r"|过敏|素食|糖尿病|怀孕|アレルギー|аллерги\w+|диабет\w*|حساسية|एलर्जी|แพ้",
    re.I,
)
_IDENTIFIER = re.compile(
    r"(?<![\w@#-])(?=[\w-]*\d)(?=[\w-]*[A-Z_])[A-Za-z0-9]+(?:[-_][A-Za-z0-9]+)*(?![\w-])"
    r"|\b(?:number|extension|code|pin|id|no\.)(?: \w+){0,5} #?\d{3,}\b",
)
_MONEY = re.compile(
    r"[$€£¥₹₽]\s?\d|\d\s?(?:[$€£¥₹₽元円]|(?:euros?|eur|dollars?|usd|pounds?|gbp|francs?|yen|rupees?"
    r"|руб)\b)",
    re.IGNORECASE,
)
_PATTERNS = (
    (Cue.CONSTRAINT, _CONSTRAINT),
    (Cue.CORRECTION, _CORRECTION),
    (Cue.PREFERENCE, _PREFERENCE),
    (Cue.DECISION, _DECISION),
    (Cue.REQUEST, _REQUEST),
    (Cue.FACT, _FACT),
    (Cue.NAMING, _NAMING),
    (Cue.TIME, _TIME),
    (Cue.AMOUNT, _AMOUNT),
    (Cue.LISTING, _LISTING),
    (Cue.HEALTH, _HEALTH),
    (Cue.IDENTIFIER, _IDENTIFIER),
    (Cue.MONEY, _MONEY),
)


def cues(sentence: str) -> tuple[Cue, ...]:
    """The cues of a sentence, in the order in which `Cue` names them."""
    return tuple(cue for cue, pattern in _PATTERNS if pattern.search(sentence))
