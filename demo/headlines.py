"""Headlines made up for this project: some good news, some bad, some neither."""

HEADLINES = (
    "City library reopens after flood to cheers and long queues",
    "Bakery chain collapses, leaving hundreds without work before the holidays",
    "Council will vote on the new bus timetable on Thursday",
    "Nurses praise record recovery rates at the rebuilt children's ward",
    "Faulty brakes blamed for fatal crash on mountain railway",
    "Harbour ferry to run every twenty minutes from next month",
    "Small vineyard wins top prize after years of patient work",
    "Toxic leak poisons river and ruins the fishing season",
    "Museum publishes its opening hours for the winter",
    "Volunteers rescue stranded whale in a joyful morning at the bay",
)
