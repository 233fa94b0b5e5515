package web

import (
	"slices"
	"strings"
	_ "time/tzdata" // the zones are part of the binary: a small system has none

	"sentonce/views"
)

// zoneChoices are the zones to choose from: UTC, then places from west to east within each part of the world, and the one that is chosen now,
// whichever it is. Any other name of the IANA database is taken, too.
func zoneChoices(chosen string) []views.Choice {
	names := strings.Fields(zoneNames)
	if !slices.Contains(names, chosen) {
		names = append(names, chosen)
	}
	var all []views.Choice
	for _, n := range names {
		all = append(all, views.Choice{Value: n, Label: strings.ReplaceAll(n, "_", " ")})
	}
	return all
}

const zoneNames = `UTC
Africa/Casablanca Africa/Lagos Africa/Algiers Africa/Tunis Africa/Cairo Africa/Johannesburg Africa/Nairobi
America/Anchorage America/Los_Angeles America/Vancouver America/Phoenix America/Denver America/Mexico_City America/Chicago America/Bogota
America/Lima America/New_York America/Toronto America/Halifax America/Santiago America/St_Johns America/Argentina/Buenos_Aires
America/Sao_Paulo
Asia/Jerusalem Asia/Beirut Asia/Riyadh Asia/Baghdad Asia/Tehran Asia/Dubai Asia/Kabul Asia/Karachi Asia/Tashkent Asia/Kolkata
Asia/Kathmandu Asia/Dhaka Asia/Yangon Asia/Bangkok Asia/Ho_Chi_Minh Asia/Jakarta Asia/Shanghai Asia/Hong_Kong Asia/Singapore Asia/Manila
Asia/Taipei Asia/Seoul Asia/Tokyo
Atlantic/Azores Atlantic/Canary Atlantic/Reykjavik
Australia/Perth Australia/Adelaide Australia/Brisbane Australia/Sydney
Europe/Lisbon Europe/Dublin Europe/London Europe/Madrid Europe/Paris Europe/Brussels Europe/Amsterdam Europe/Luxembourg Europe/Zurich
Europe/Berlin Europe/Copenhagen Europe/Oslo Europe/Rome Europe/Vienna Europe/Prague Europe/Stockholm Europe/Budapest Europe/Warsaw
Europe/Belgrade Europe/Athens Europe/Sofia Europe/Bucharest Europe/Helsinki Europe/Tallinn Europe/Riga Europe/Vilnius Europe/Kyiv
Europe/Istanbul Europe/Moscow
Pacific/Honolulu Pacific/Auckland`
