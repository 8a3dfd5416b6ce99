package main

import (
	"fmt"
	"strconv"
	"strings"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of a date.
const (
	maxDateBytes = 64 // bytes of a date's text
	minYear      = 1
	maxYear      = 9999
)

// absolute are the layouts that name their UTC offset.
var absolute = []string{
	"2006-01-02T15:04:05Z07:00", "2006-01-02 15:04:05Z07:00", "2006-01-02T15:04Z07:00",
	"2006-01-02T15:04:05-0700", "2006-01-02 15:04:05 -0700", "2006-01-02 15:04 -0700",
	"20060102T150405Z07:00", "Mon, 2 Jan 2006 15:04:05 -0700", "2 Jan 2006 15:04:05 -0700",
	"Mon, 2 Jan 2006 15:04:05 GMT", "2006-01-02 15:04:05 UTC",
}

// clock are the layouts of a clock time in some zone, dateOnly those of a day.
var (
	clock = []string{
		"2006-01-02T15:04:05", "2006-01-02T15:04", "2006-01-02 15:04:05", "2006-01-02 15:04",
		"20060102T150405", "20060102T1504", "2 January 2006 15:04", "2 Jan 2006 15:04",
		"January 2, 2006 15:04", "Jan 2, 2006 15:04", "January 2, 2006 3:04 PM",
		"Jan 2, 2006 3:04 PM", "2006-01-02 3:04 PM",
	}
	dateOnly = []string{
		"2006-01-02", "20060102", "2006-002", "2 January 2006", "2 Jan 2006", "January 2, 2006",
		"Jan 2, 2006", "Mon, 2 Jan 2006", "Monday, 2 January 2006", "Monday, January 2, 2006",
	}
)

// now is the clock; tests set it.
var now = time.Now

// date reads argument text in a zone. note tells what was chosen where the clocks change.
func date(pointer, text string, z *time.Location) (t time.Time, note string, err error) {
	if len(text) > maxDateBytes {
		return t, "", pdk.InvalidInput(pointer,
			fmt.Sprintf("%d bytes, at most %d", len(text), maxDateBytes))
	}
	t, note, err = parse(strings.TrimSpace(text), z)
	if err != nil {
		return t, "", pdk.InvalidInput(pointer, err.Error())
	}
	if y := t.Year(); y < minYear || y > maxYear {
		return t, "", pdk.InvalidInput(pointer,
			fmt.Sprintf("the year is not between %d and %d", minYear, maxYear))
	}
	return t, note, nil
}

// parse reads text. A nil zone is UTC, but a date that names its offset keeps it.
func parse(text string, z *time.Location) (time.Time, string, error) {
	local := z
	if z == nil {
		local = time.UTC
	}
	switch text {
	case "now":
		return now().In(local), "", nil
	case "today":
		return startOfDay(dayOf(now().In(local)), local), "", nil
	}
	if seconds, ok := strings.CutPrefix(text, "@"); ok {
		n, err := strconv.ParseInt(seconds, 10, 40)
		if err != nil {
			return time.Time{}, "", fmt.Errorf("%q is not @ and Unix seconds", text)
		}
		return time.Unix(n, 0).In(local), "", nil
	}
	for _, layout := range absolute {
		if t, err := time.Parse(layout, text); err == nil {
			return inZone(t, z), "", checkWeekday(t, layout, text)
		}
	}
	for _, layout := range clock {
		if wall, err := time.Parse(layout, text); err == nil {
			return resolveExact(wall, local)
		}
	}
	if day, ok, err := parseDay(text); ok || err != nil {
		t := startOfDay(day, local)
		if err == nil && dayOf(t) != day {
			err = fmt.Errorf("%s does not exist in %s, where the calendar skips it", text, local)
		}
		return t, "", err
	}
	return time.Time{}, "", unreadable(text)
}

// parseDay reads the text of a day without a clock time.
func parseDay(text string) (day, bool, error) {
	for _, layout := range dateOnly {
		if t, err := time.Parse(layout, text); err == nil {
			return dayOf(t), true, checkWeekday(t, layout, text)
		}
	}
	return parseWeekDay(text)
}

// parseWeekDay reads 2026-W14-3, 2026W143, and for its Monday 2026-W14.
func parseWeekDay(text string) (day, bool, error) {
	year, rest, ok := strings.Cut(text, "W")
	if ok && strings.HasSuffix(year, "-") { // with hyphens: at both places or there is no day
		year = strings.TrimSuffix(year, "-")
		if len(rest) > 2 {
			ok = rest[2] == '-'
			rest = rest[:2] + rest[3:]
		}
	}
	if !ok || len(year) != 4 || len(rest) < 2 || len(rest) > 3 || !isDigits(year+rest) {
		return 0, false, nil
	}
	y, _ := strconv.Atoi(year)
	week, _ := strconv.Atoi(rest[:2])
	weekday, _ := strconv.Atoi((rest + "1")[2:3])
	if weekday < 1 || weekday > 7 {
		return 0, false, nil
	}
	// The fourth of January is always in the first week.
	fourth := dayOf(time.Date(y, 1, 4, 0, 0, 0, 0, time.UTC))
	d := fourth - day(fourth.isoWeekday()-1) + day((week-1)*7+weekday-1)
	if gotYear, gotWeek := d.time().ISOWeek(); gotYear != y || gotWeek != week {
		return 0, false, fmt.Errorf("%d has no week %d", y, week)
	}
	return d, true, nil
}

func isDigits(s string) bool { return s != "" && strings.Trim(s, "0123456789") == "" }

// checkWeekday refuses a text whose weekday and date contradict each other.
func checkWeekday(t time.Time, layout, text string) error {
	if !strings.HasPrefix(layout, "Mon") || strings.EqualFold(text[:3], t.Format("Mon")) {
		return nil
	}
	return fmt.Errorf("%s is a %s, but %q says otherwise", t.Format(time.DateOnly), t.Weekday(), text)
}

// unreadable says why text was not understood, as far as can be guessed.
func unreadable(text string) error {
	hint := "write it like 2026-03-29 or 2026-03-29T14:30"
	switch {
	case isDigits(text) && len(text) >= 9:
		hint = "put @ before Unix seconds"
	case isDigits(strings.NewReplacer(".", "", "/", "", "-", "").Replace(text)) &&
		strings.IndexAny(text+"-", "./-") < 3:
		hint = "day and month could be swapped; write YYYY-MM-DD"
	case len(text) >= 10 && text[4] == '-' && text[7] == '-':
		if _, err := time.Parse(time.DateOnly, text[:10]); err != nil {
			hint = "there is no such day"
		}
	}
	return fmt.Errorf("cannot read %q as a date: %s", text, hint)
}
