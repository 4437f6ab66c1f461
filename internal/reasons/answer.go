package reasons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Report says in which way an object is not as expected, and why.
type Report struct {
	State State `json:"state,omitempty"`
	// Reasons are the most important reasons, the most important first, and More counts the
	// others.
	Reasons []Reason `json:"reasons,omitempty"`
	More    int      `json:"more,omitempty"`
}

// Reason is one line of a Report.
type Reason struct {
	// Object is the part that the reason is about, as KIND/NAME; empty for the object
	// itself. Others counts further parts with the same reason.
	Object string `json:"object,omitempty"`
	Others int    `json:"others,omitempty"`
	// Source describes the field with the reason in words: "PodScheduled is False",
	// "container web is waiting", "event".
	Source string `json:"source"`
	// Reason is the API's reason, such as Unschedulable, and Message the API's message,
	// shortened to maxMessage characters.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Count is the number of occurrences of an event; 0 means 1.
	Count int32 `json:"count,omitempty"`
}

const (
	// maxReasons caps a Report, maxMessage the characters of a message, and maxWord the
	// characters of the other texts from the API.
	maxReasons = 4
	maxMessage = 300
	maxWord    = 120
)

// String formats the reason as one line for people.
func (r Reason) String() string {
	var b strings.Builder
	if r.Object != "" {
		b.WriteString(r.Object)
		if r.Others > 0 {
			fmt.Fprintf(&b, " and %d more", r.Others)
		}
		b.WriteString(": ")
	}
	b.WriteString(r.Source)
	if r.Reason != "" {
		b.WriteString(" (" + r.Reason + ")")
	}
	if r.Count > 1 {
		fmt.Fprintf(&b, ", %d times", r.Count)
	}
	if r.Message != "" {
		b.WriteString(": " + r.Message)
	}
	return b.String()
}

// Title introduces the list of reasons: "Not ready because".
func (r *Report) Title() string { return titles[r.State] }

// Sentence formats the first reason for one or several objects: "pod/web: not ready because
// ...". It is empty for a report without reasons.
func (r *Report) Sentence(objects string) string {
	title := r.Title()
	if len(r.Reasons) == 0 || title == "" {
		return ""
	}
	return objects + ": " + strings.ToLower(title[:1]) + title[1:] + " " + r.Reasons[0].String()
}

// Lines formats the reasons as lines for people.
func (r *Report) Lines() []string {
	lines := make([]string, 0, len(r.Reasons)+1)
	for _, reason := range r.Reasons {
		lines = append(lines, reason.String())
	}
	if r.More > 0 {
		lines = append(lines, fmt.Sprintf("and %d more", r.More))
	}
	return lines
}

// rank orders reasons: the most important rank is the lowest.
type rank int

const (
	cause       rank = iota // what keeps the object from being as expected
	verdict                 // a controller's conclusion
	warning                 // what may be related
	remark                  // other facts
	consequence             // follows from a reason, useful only if there is no other
)

type ranked struct {
	rank rank
	Reason
}

// answer collects the reasons of one object.
type answer struct{ found []ranked }

func (a *answer) add(r rank, reason Reason) {
	reason.Message = shortened(reason.Message, maxMessage)
	reason.Source, reason.Reason = shortened(reason.Source, maxWord), shortened(reason.Reason, maxWord)
	a.found = append(a.found, ranked{r, reason})
}

// sorted returns the reasons to report: the most important first, without duplicates, and
// consequences only if there is nothing else.
func (a *answer) sorted() []ranked {
	all := slices.Clone(a.found)
	// Of duplicates, keep the reason of the object itself.
	slices.SortStableFunc(all, func(x, y ranked) int { return cmp.Compare(x.distance(), y.distance()) })
	said := map[string]bool{}
	all = slices.DeleteFunc(all, func(r ranked) bool {
		again := r.Message != "" && said[r.Message]
		said[r.Message] = true
		return again
	})
	slices.SortStableFunc(all, func(x, y ranked) int { return cmp.Compare(x.rank, y.rank) })
	clear(said)
	return slices.DeleteFunc(all, func(r ranked) bool {
		again := r.Message == "" && r.Reason.Reason != "" && said[r.Object+" "+r.Reason.Reason]
		said[r.Object+" "+r.Reason.Reason] = true
		return again || r.rank == consequence && all[0].rank < consequence
	})
}

// distance is 0 for a reason of the object itself, and 1 for one of a part.
func (r ranked) distance() int {
	if r.Object == "" {
		return 0
	}
	return 1
}

func (a *answer) report(state State) Report {
	all := a.sorted()
	out := Report{State: state, More: max(len(all)-maxReasons, 0)}
	for _, r := range all[:len(all)-out.More] {
		out.Reasons = append(out.Reasons, r.Reason)
	}
	return out
}

// shortened returns the text in one line of at most limit characters, without control
// characters.
func shortened(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
