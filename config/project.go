package config

import (
	"fmt"
	"slices"
	"strings"
)

// rule says what becomes of a value that a project's file sets: what counts then, or an error. old
// is what counts for the user, and have all that the user has set.
type rule func(have *values, old value, next any) (any, error)

// lower lets a project set a value that is not above the one that counts.
func lower(_ *values, old value, next any) (any, error) {
	if old.v != nil && compare(next, old.v) > 0 {
		return nil, fmt.Errorf("%s is more than %s: a project's file may only lower it",
			show(next), old)
	}
	return next, nil
}

// stricter is the same for words that are in order, the laxest first.
func stricter(order []string) rule {
	return func(_ *values, old value, next any) (any, error) {
		word, _ := old.v.(string)
		if slices.Index(order, next.(string)) < slices.Index(order, word) {
			return nil, fmt.Errorf("%s is laxer than %s: a project's file may only be stricter",
				show(next), old)
		}
		return next, nil
	}
}

// among lets a project choose one of the user's models.
func among(have *values, _ value, next any) (any, error) {
	model, models := have.set["provider.model"], have.set["provider.models"]
	list, _ := models.v.([]string)
	if next != model.v && !slices.Contains(list, next.(string)) {
		var not []string
		if models.v != nil {
			not = append(not, fmt.Sprintf("is none of provider.models, %s", models))
		}
		if model.v != nil {
			not = append(not, fmt.Sprintf("is not provider.model, %s", model))
		}
		if not == nil {
			not = []string{"is no model of the user's, whose file names none"}
		}
		return nil, fmt.Errorf("%s %s: a project's file may only choose among the user's models",
			show(next), strings.Join(not, ", and "))
	}
	return next, nil
}

// fewer lets a project allow less than the user does.
func fewer(_ *values, old value, next any) (any, error) {
	allowed, some := old.v.([]string)
	for _, tool := range next.([]string) {
		if some && !covered(allowed, tool) {
			return nil, fmt.Errorf("%s is not among %s: a project's file may only name fewer tools",
				show(tool), old)
		}
	}
	return next, nil
}

// more adds to what the user denies.
func more(_ *values, old value, next any) (any, error) {
	denied, _ := old.v.([]string)
	return append(slices.Clone(denied), next.([]string)...), nil
}

// own lets a project describe subagents of its own, but none of the user's.
func own(have *values, old value, next any) (any, error) {
	agent := old.at[:len(old.at)-1]
	if theirs := have.below(agent); theirs != nil {
		return nil, fmt.Errorf("%s is described in the user's file (%s): a project's file may only "+
			"add others", show(agent[len(agent)-1]), strings.Join(theirs, ", "))
	}
	return next, nil
}

func ownAmong(have *values, old value, next any) (any, error) {
	if _, err := own(have, old, next); err != nil {
		return nil, err
	}
	return among(have, old, next)
}
