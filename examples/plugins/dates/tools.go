package main

import (
	"fmt"
	"time"

	"github.com/wasmagent/wasmagent/pdk"
)

// Limits of one call.
const (
	maxZones        = 50            // zones to convert to
	maxAmount       = 1_000_000_000 // of any unit but business days
	maxBusinessDays = 100_000
)

func dateNow(_ *pdk.Call, in NowInput) (Moment, error) {
	z, err := zone("/zone", in.Zone)
	if err != nil {
		return Moment{}, err
	}
	return momentOf(inZone(now().UTC(), z), ""), nil
}

// read gives a date argument in the zone argument of the same call.
func read(pointer, text, zoneName string) (time.Time, string, error) {
	z, err := zone("/zone", zoneName)
	if err != nil {
		return time.Time{}, "", err
	}
	return date(pointer, text, z)
}

func dateInfo(_ *pdk.Call, in InfoInput) (InfoOutput, error) {
	t, note, err := read("/date", in.Date, in.Zone)
	if err != nil {
		return InfoOutput{}, err
	}
	w, err := in.workdays()
	if err != nil {
		return InfoOutput{}, err
	}
	out := InfoOutput{
		Moment: momentOf(t, note),
		Year:   t.Year(), Month: int(t.Month()), Day: t.Day(),
		Quarter:     (int(t.Month()) + 2) / 3,
		DayOfYear:   t.YearDay(),
		DaysInMonth: daysIn(t.Year(), t.Month()),
		LeapYear:    daysIn(t.Year(), time.February) == 29,
		BusinessDay: w.isBusiness(dayOf(t)),
		UTC:         t.UTC().Format(time.RFC3339Nano),
		Offset:      t.Format("-07:00"),
		SummerTime:  t.IsDST(),
	}
	out.ISOYear, out.ISOWeek = t.ISOWeek()
	return out, nil
}

func dateConvert(_ *pdk.Call, in ConvertInput) (ConvertOutput, error) {
	if len(in.To) == 0 || len(in.To) > maxZones {
		return ConvertOutput{}, pdk.InvalidInput("/to", fmt.Sprintf("from 1 to %d zones", maxZones))
	}
	t, note, err := read("/date", in.Date, in.Zone)
	if err != nil {
		return ConvertOutput{}, err
	}
	out := ConvertOutput{From: momentOf(t, note)}
	for i, name := range in.To {
		z, err := zone(fmt.Sprintf("/to/%d", i), name)
		if err != nil {
			return ConvertOutput{}, err
		}
		there := inZone(t.UTC(), z)
		if err := inRange(there); err != nil {
			return ConvertOutput{}, err
		}
		out.To = append(out.To, momentOf(there, ""))
	}
	return out, nil
}

func dateAdd(_ *pdk.Call, in AddInput) (Moment, error) {
	t, note, err := read("/date", in.Date, in.Zone)
	if err != nil {
		return Moment{}, err
	}
	w, err := in.workdays()
	if err != nil {
		return Moment{}, err
	}
	if err := in.check(); err != nil {
		return Moment{}, err
	}
	wall := wallOf(t)
	moved := addMonths(wall, in.Years*12+in.Months)
	if err := inRange(moved); err != nil {
		return Moment{}, err
	}
	moved = moved.AddDate(0, 0, int(in.Weeks*7+in.Days))
	if err := inRange(moved); err != nil {
		return Moment{}, err
	}
	from := dayOf(moved)
	moved = moved.AddDate(0, 0, int(w.add(from, in.BusinessDays)-from))
	if !moved.Equal(wall) {
		t, note = resolveNear(moved, t.Location(), offsetOf(t))
	}
	exact := in.Hours*3600 + in.Minutes*60 + in.Seconds
	t = time.Unix(t.Unix()+exact, int64(t.Nanosecond())).In(t.Location())
	return momentOf(t, note), inRange(t)
}

func (in *AddInput) check() error {
	for _, amount := range []struct {
		pointer string
		n, most int64
	}{
		{"/years", in.Years, maxAmount}, {"/months", in.Months, maxAmount},
		{"/weeks", in.Weeks, maxAmount}, {"/days", in.Days, maxAmount},
		{"/business_days", in.BusinessDays, maxBusinessDays}, {"/hours", in.Hours, maxAmount},
		{"/minutes", in.Minutes, maxAmount}, {"/seconds", in.Seconds, maxAmount},
	} {
		if amount.n < -amount.most || amount.n > amount.most {
			return pdk.InvalidInput(amount.pointer,
				fmt.Sprintf("not between -%d and %d", amount.most, amount.most))
		}
	}
	return nil
}

func inRange(t time.Time) error {
	if t.Year() >= minYear && t.Year() <= maxYear {
		return nil
	}
	return &pdk.Failure{Code: "out_of_range", Permanent: true,
		Message: fmt.Sprintf("the result is not between the years %d and %d", minYear, maxYear)}
}

func dateDiff(_ *pdk.Call, in DiffInput) (DiffOutput, error) {
	from, note, err := read("/from", in.From, in.Zone)
	if err != nil {
		return DiffOutput{}, err
	}
	// Both are looked at in one zone, so that the calendar days are of one calendar.
	to, noteTo, err := date("/to", in.To, from.Location())
	if err != nil {
		return DiffOutput{}, err
	}
	w, err := in.workdays()
	if err != nil {
		return DiffOutput{}, err
	}
	out := DiffOutput{
		Seconds:      float64(to.Unix()-from.Unix()) + float64(to.Nanosecond()-from.Nanosecond())/1e9,
		Days:         int64(dayOf(to) - dayOf(from)),
		BusinessDays: w.between(dayOf(from), dayOf(to)),
		Note:         note,
	}
	if note == "" {
		out.Note = noteTo
	}
	out.breakDown(wallOf(from), wallOf(to))
	return out, nil
}

// breakDown counts years, months and so on from one wall clock time to the other.
func (out *DiffOutput) breakDown(from, to time.Time) {
	sign, prefix := int64(1), ""
	if to.Before(from) {
		from, to = to, from
		sign, prefix = -1, "-"
	}
	months := int64(to.Year()-from.Year())*12 + int64(to.Month()-from.Month())
	if addMonths(from, months).After(to) {
		months--
	}
	base := addMonths(from, months)
	rest := to.Unix() - base.Unix()
	if to.Nanosecond() < base.Nanosecond() {
		rest--
	}
	y, m := months/12, months%12
	d, h := rest/secondsPerDay, rest%secondsPerDay/3600
	mi, s := rest%3600/60, rest%60
	out.ISO = prefix + isoDuration(y, m, d, h, mi, s)
	out.Years, out.Months, out.RestDays = sign*y, sign*m, sign*d
	out.Hours, out.Minutes, out.RestSeconds = sign*h, sign*mi, sign*s
}

func isoDuration(years, months, days, hours, minutes, seconds int64) string {
	part := func(n int64, letter string) string {
		if n == 0 {
			return ""
		}
		return fmt.Sprint(n) + letter
	}
	date := part(years, "Y") + part(months, "M") + part(days, "D")
	clock := part(hours, "H") + part(minutes, "M") + part(seconds, "S")
	if clock != "" {
		return "P" + date + "T" + clock
	}
	if date == "" {
		return "PT0S"
	}
	return "P" + date
}
