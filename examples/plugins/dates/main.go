// Dates computes with dates, clock times and time zones, so that an agent need not know calendars
// by heart. The rules of all zones are inside the plugin.
package main

import "github.com/wasmagent/wasmagent/pdk"

func init() {
	pdk.Plugin("dates", "1.0.0")
	pdk.Register(pdk.Tool{
		Name: "date_now",
		Description: "Tell the current date and time in a time zone. Use it before anything that " +
			"depends on today.",
		Effect: pdk.Read,
	}, dateNow)
	pdk.Register(pdk.Tool{
		Name: "date_info",
		Description: "Read a date and tell its weekday, ISO week, quarter, day of the year, Unix time, " +
			"UTC offset, and whether it is in summer time, a leap year, or a business day.",
		Effect: pdk.Read,
	}, dateInfo)
	pdk.Register(pdk.Tool{
		Name: "date_convert",
		Description: "Tell what a date and time is in other time zones. Use it for meetings, flights " +
			"and logs.",
		Effect: pdk.Read,
	}, dateConvert)
	pdk.Register(pdk.Tool{
		Name: "date_add",
		Description: "Add years, months, weeks, days, business days, hours, minutes and seconds to a " +
			"date, in this order; negative amounts subtract. Years to days follow the calendar " +
			"(31 January + 1 month = the last of February), hours to seconds are exact.",
		Effect: pdk.Read,
	}, dateAdd)
	pdk.Register(pdk.Tool{
		Name: "date_diff",
		Description: "Tell how far two dates are apart: exact seconds, calendar days, business days, " +
			"and years, months and days as a person counts them. Use it for ages, deadlines and durations.",
		Effect: pdk.Read,
	}, dateDiff)
	pdk.Register(pdk.Tool{
		Name: "date_series",
		Description: "List repeating dates: every n days, weeks, months, years or business days, " +
			"chosen weekdays, or the nth weekday or business day of a month (nth -1 is the last).",
		Effect: pdk.Read,
	}, dateSeries)
}

func main() {}

// Moment is a point in time as it is told.
type Moment struct {
	DateTime string `json:"datetime" doc:"RFC 3339 with the UTC offset"`
	Date     string `json:"date" doc:"YYYY-MM-DD"`
	Weekday  string `json:"weekday"`
	Zone     string `json:"zone" doc:"time zone of datetime, date and weekday"`
	Unix     int64  `json:"unix" doc:"seconds since 1970-01-01T00:00:00Z"`
	Note     string `json:"note,omitempty" doc:"what was chosen where the clocks change"`
}

// Calendar says which days are business days.
type Calendar struct {
	Weekend  []string `json:"weekend,omitempty" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday" doc:"days off each week; saturday and sunday when absent"`
	Holidays []string `json:"holidays,omitempty" doc:"further days off, as YYYY-MM-DD"`
}

// NowInput is the arguments of date_now.
type NowInput struct {
	Zone string `json:"zone,omitempty" default:"UTC" doc:"IANA time zone, e.g. Europe/Berlin, or an offset such as +02:00"`
}

// InfoInput is the arguments of date_info.
type InfoInput struct {
	Date string `json:"date" doc:"e.g. 2026-03-29, 2026-03-29T14:30, 2026-03-29T14:30:00+02:00, 29 Mar 2026, 2026-W13-7, @1774787400 (Unix seconds), now or today"`
	Zone string `json:"zone,omitempty" doc:"IANA time zone to read and tell the date in; UTC, or the date's own offset, when absent"`
	Calendar
}

// InfoOutput is the result of date_info.
type InfoOutput struct {
	Moment
	Year        int    `json:"year"`
	Month       int    `json:"month"`
	Day         int    `json:"day"`
	ISOYear     int    `json:"iso_year" doc:"the year that the ISO week belongs to"`
	ISOWeek     int    `json:"iso_week"`
	Quarter     int    `json:"quarter"`
	DayOfYear   int    `json:"day_of_year"`
	DaysInMonth int    `json:"days_in_month"`
	LeapYear    bool   `json:"leap_year"`
	BusinessDay bool   `json:"business_day"`
	UTC         string `json:"utc" doc:"the same moment in UTC"`
	Offset      string `json:"utc_offset"`
	SummerTime  bool   `json:"summer_time"`
}

// ConvertInput is the arguments of date_convert.
type ConvertInput struct {
	Date string   `json:"date" doc:"e.g. 2026-03-29T14:30, 2026-03-29T14:30:00+02:00, @1774787400 or now"`
	Zone string   `json:"zone,omitempty" doc:"IANA time zone that date is in, unless it has its own offset; UTC when absent"`
	To   []string `json:"to" min:"1" max:"50" doc:"IANA time zones to convert to, e.g. America/New_York"`
}

// ConvertOutput is the result of date_convert.
type ConvertOutput struct {
	From Moment   `json:"from"`
	To   []Moment `json:"to" doc:"one for each zone asked for, in that order"`
}

// AddInput is the arguments of date_add.
type AddInput struct {
	Date         string `json:"date" doc:"e.g. 2026-03-29, 2026-03-29T14:30, 2026-03-29T14:30:00+02:00, now or today"`
	Zone         string `json:"zone,omitempty" doc:"IANA time zone whose calendar and clock count; UTC, or the date's own offset, when absent"`
	Years        int64  `json:"years,omitempty"`
	Months       int64  `json:"months,omitempty"`
	Weeks        int64  `json:"weeks,omitempty"`
	Days         int64  `json:"days,omitempty"`
	BusinessDays int64  `json:"business_days,omitempty" min:"-100000" max:"100000"`
	Hours        int64  `json:"hours,omitempty"`
	Minutes      int64  `json:"minutes,omitempty"`
	Seconds      int64  `json:"seconds,omitempty"`
	Calendar
}

// DiffInput is the arguments of date_diff.
type DiffInput struct {
	From string `json:"from" doc:"e.g. 2026-03-29, 2026-03-29T14:30, 2026-03-29T14:30:00+02:00, now or today"`
	To   string `json:"to" doc:"the other date, in the same forms; when it is earlier, all results are negative"`
	Zone string `json:"zone,omitempty" doc:"IANA time zone whose calendar and clock count; UTC, or the offset of from, when absent"`
	Calendar
}

// DiffOutput is the result of date_diff.
type DiffOutput struct {
	Seconds      float64 `json:"seconds" doc:"exact time between both"`
	Days         int64   `json:"days" doc:"how many times the date changes"`
	BusinessDays int64   `json:"business_days" doc:"business days after from, up to and with to"`
	Years        int64   `json:"years" doc:"whole years; months, days, hours, minutes and rest_seconds are what is left"`
	Months       int64   `json:"months"`
	RestDays     int64   `json:"rest_days"`
	Hours        int64   `json:"hours"`
	Minutes      int64   `json:"minutes"`
	RestSeconds  int64   `json:"rest_seconds"`
	ISO          string  `json:"iso_duration" doc:"years to rest_seconds as ISO 8601, e.g. P1Y2M10DT2H30M"`
	Note         string  `json:"note,omitempty" doc:"what was chosen where the clocks change"`
}

// SeriesInput is the arguments of date_series.
type SeriesInput struct {
	Start    string   `json:"start" doc:"first possible date; the results keep its clock time"`
	Zone     string   `json:"zone,omitempty" doc:"IANA time zone whose calendar and clock count; UTC, or the offset of start, when absent"`
	Unit     string   `json:"unit" enum:"day,week,month,year,business_day"`
	Every    int64    `json:"every,omitempty" min:"1" max:"10000" default:"1" doc:"2 with unit week is every second week"`
	Weekdays []string `json:"weekdays,omitempty" enum:"monday,tuesday,wednesday,thursday,friday,saturday,sunday" doc:"with unit day or week: only these days; with unit month: see nth"`
	Nth      int64    `json:"nth,omitempty" min:"-23" max:"23" doc:"with unit month: the nth of weekdays in the month, or its nth business day when weekdays is absent; -1 is the last"`
	Count    int64    `json:"count,omitempty" min:"1" max:"1000" default:"10" doc:"most dates to list"`
	Until    string   `json:"until,omitempty" doc:"last possible date"`
	Calendar
}

// SeriesOutput is the result of date_series.
type SeriesOutput struct {
	Dates []Occurrence `json:"dates"`
}

// Occurrence is one date of a series.
type Occurrence struct {
	Date     string `json:"date"`
	Weekday  string `json:"weekday"`
	DateTime string `json:"datetime"`
}
