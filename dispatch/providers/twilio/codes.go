package twilio

import "sentonce/dispatch"

// A Code is one error that Twilio documents for the creation of a message: what it says about the message, and where that is written.
type Code struct {
	Number int
	Class  dispatch.Meaning
	Says   string
	Source string // where the meaning was read
}

// The classes, by their effect. An inconclusive code is documented too: as one that does not say whether the message was taken.
const (
	forThisMessage  = dispatch.MeaningRefused
	forThisProvider = dispatch.MeaningRefusedHere
	forTheAccount   = dispatch.MeaningAccountRefusing
	forNow          = dispatch.MeaningTryLater
	inconclusive    = dispatch.MeaningForeign
)

const pages = "https://www.twilio.com/docs/api/errors/"

// Codes lists what is known, by number. Delivery errors (30001 and the like) are not here: they are reported after a message was created.
// Neither are errors of calls, media, scheduling and other resources, which a text to one number cannot meet.
func Codes() []Code {
	return []Code{
		{10001, forTheAccount, "the account is not active", pages + "10001"},
		{20003, forTheAccount, "the credentials are wrong, or the account is suspended", pages + "20003"},
		{20005, forTheAccount, "the account is not active", pages + "20005"},
		{20006, forTheAccount, "the credentials do not reach this resource", pages + "20006"},
		{20008, forTheAccount, "test credentials do not reach this resource", pages + "20008"},
		{20403, forTheAccount, "the account may not use the API", pages + "20403"},
		{20404, forTheAccount, "there is no such account or path", pages + "20404"},
		{20429, forNow, "too many requests; never processed", pages + "20429"},
		{20500, inconclusive, "internal error or time-out; the message may have been taken", pages + "20500"},
		{20503, inconclusive, "unavailable; not said to be unprocessed", pages + "20503"},
		{21211, forThisMessage, "To is not a valid number", pages + "21211"},
		{21212, forTheAccount, "From is not a valid sender", pages + "21212"},
		{21266, forThisMessage, "To and From are the same number", pages + "21266"},
		{21408, forThisProvider, "the account may not send to this country", pages + "21408"},
		{21601, forTheAccount, "From is not a number of this account", pages + "21601"},
		{21602, forThisMessage, "there is no text", pages + "21602"},
		{21603, forTheAccount, "there is no From", pages + "21603"},
		{21604, forThisMessage, "there is no To", pages + "21604"},
		{21606, forTheAccount, "From cannot send text messages", pages + "21606"},
		{21608, forThisProvider, "a trial account may not send to this number", pages + "21608"},
		{21610, forThisMessage, "the recipient has opted out", pages + "21610"},
		{21611, forNow, "the sender's queue is full", pages + "21611"},
		{21612, forThisProvider, "no route from this sender to this number", pages + "21612"},
		{21614, forThisMessage, "To is not a mobile number", pages + "21614"},
		{21616, forTheAccount, "From matches several numbers of the account", pages + "21616"},
		{21617, forThisMessage, "the text is longer than 1600 characters", pages + "21617"},
		{21619, forThisMessage, "there is neither text nor media", pages + "21619"},
		{21624, forThisProvider, "the validity period is not allowed", pages + "21624"},
		{21635, forThisMessage, "To is a landline", pages + "21635"},
		{21658, forThisProvider, "a parameter is too long", pages + "21658"},
		{21659, forTheAccount, "From is not a Twilio number, or not of the recipient's country", pages + "21659"},
		{21660, forTheAccount, "From belongs to another account", pages + "21660"},
		{21701, forTheAccount, "there is no such Messaging Service", pages + "21701"},
		{21705, forTheAccount, "the Messaging Service's id is malformed", pages + "21705"},
		{63038, forTheAccount, "the account's daily limit is reached", pages + "63038"},
		{90010, forTheAccount, "the account is not active", pages + "90010"},
	}
}

func lookUp(number int) (Code, bool) {
	for _, c := range Codes() {
		if c.Number == number {
			return c, true
		}
	}
	return Code{}, false
}
