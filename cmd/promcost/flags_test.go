package main

import (
	"testing"
	"time"

	"github.com/alecthomas/kingpin/v2"
)

func TestZones(t *testing.T) {
	at := time.Date(2026, 7, 1, 12, 0, 0, 0, time.UTC)
	for _, tt := range []struct {
		text string
		want string // the time in the zone; "" is an error
	}{
		{"UTC", "12:00"},
		{"Europe/Berlin", "14:00"},
		{"Asia/Kolkata", "17:30"},
		{"+05:30", "17:30"},
		{"-08:00", "04:00"},
		{"+00:00", "12:00"},
		{"Local", ""},
		{"Mars/Olympus", ""},
		{"+5", ""},
		{"", ""},
	} {
		t.Run(tt.text, func(t *testing.T) {
			var zone *time.Location
			app := kingpin.New("test", "").Terminate(nil)
			zoneOf(app, "timezone", "", &zone)
			_, err := app.Parse([]string{"--timezone=" + tt.text})
			switch {
			case tt.want == "" && err == nil:
				t.Errorf("accepted as %s", zone)
			case tt.want != "" && err != nil:
				t.Error(err)
			case tt.want != "" && at.In(zone).Format("15:04") != tt.want:
				t.Errorf("12:00 UTC is %s, want %s", at.In(zone).Format("15:04"), tt.want)
			}
		})
	}
}
