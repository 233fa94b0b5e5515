package web

import (
	"strings"

	"sentonce/dispatch"
	"sentonce/store"
	"sentonce/views"
)

// actionWords says what an event is, as the timeline and the audit log write it.
func actionWords(a dispatch.Action) string {
	switch a {
	case dispatch.ActionAccepted:
		return "Accepted"
	case dispatch.ActionReplayed:
		return "Repeated by the storefront"
	case dispatch.ActionDispatchStarted:
		return "Call begun"
	case dispatch.ActionAttemptFinished:
		return "Call ended"
	case dispatch.ActionAttemptInterrupt:
		return "Call cut off by a restart"
	case dispatch.ActionLookupRecorded:
		return "Provider asked"
	case dispatch.ActionReceiptRecorded:
		return "Delivery report"
	case dispatch.ActionReceiptRepeated:
		return "Delivery report, again"
	case dispatch.ActionReceiptUnmatched:
		return "Delivery report for nothing here"
	case dispatch.ActionVerdictRecorded:
		return "Verdict"
	case dispatch.ActionWithdrawn:
		return "Withdrawn"
	case dispatch.ActionSubjectWithdrawn:
		return "All for one account withdrawn"
	case dispatch.ActionExpired:
		return "Lifetime ended"
	case dispatch.ActionSetAside:
		return "Set aside, unreadable"
	case dispatch.ActionFinalised:
		return "Nothing more expected"
	case dispatch.ActionIncidentOpened:
		return "Incident opened"
	case dispatch.ActionAPIKeyAdded:
		return "API key made"
	case dispatch.ActionAPIKeyRotated:
		return "API key replaced"
	case dispatch.ActionAPIKeyRevoked:
		return "API key revoked"
	}
	words := strings.ReplaceAll(string(a), "_", " ")
	if words == "" {
		return words
	}
	return strings.ToUpper(words[:1]) + words[1:]
}

// actorName is who did something, by name where there is one, and how they came.
func actorName(by dispatch.Actor, client dispatch.ClientID, names store.Names) (who, how string) {
	switch by.Kind {
	case dispatch.ActorStaff:
		return orID(names.Staff[by.ID], by.ID), "staff"
	case dispatch.ActorClient:
		key := names.Keys[by.ID]
		if key == "" {
			return orID(names.Clients[client], "a storefront"), "API key"
		}
		return orID(names.Clients[client], "a storefront"), "API key “" + key + "”"
	case dispatch.ActorProvider:
		return by.ID, "provider"
	case dispatch.ActorOperator:
		return "an operator", "command line"
	case dispatch.ActorWorker:
		return "this service", "by itself"
	}
	return string(by.Kind), ""
}

// actorLine is actorName in one text.
func actorLine(by dispatch.Actor, client dispatch.ClientID, names store.Names) string {
	who, how := actorName(by, client, names)
	switch by.Kind {
	case dispatch.ActorStaff, dispatch.ActorWorker:
		return "by " + who
	case dispatch.ActorOperator:
		return "by " + who + " on the command line"
	}
	return "by " + who + ", " + how
}

// labelOf is the label of a value in a list of choices.
func labelOf(choices []views.Choice, value string) string {
	for _, c := range choices {
		if c.Value == value {
			return c.Label
		}
	}
	return value
}
