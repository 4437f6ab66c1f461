package reasons

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"unicode"
)

// Report is the answer: in which way an object is not as expected, and why.
type Report struct {
	State State `json:"state,omitempty"`
	// Reasons are the most telling ones, the one that matters most first, and More
	// counts the others.
	Reasons []Reason `json:"reasons,omitempty"`
	More    int      `json:"more,omitempty"`
}

// Reason is one line of a Report.
type Reason struct {
	// Object is the part that it is about, as KIND/NAME; empty for the object itself.
	// Others counts further parts of which the same is true.
	Object string `json:"object,omitempty"`
	Others int    `json:"others,omitempty"`
	// Source is the field that says so, in words: "PodScheduled is False", "container web
	// is waiting", "event".
	Source string `json:"source"`
	// Reason is the API's word for it, such as Unschedulable, and Message the API's
	// sentence, shortened to maxMessage characters.
	Reason  string `json:"reason,omitempty"`
	Message string `json:"message,omitempty"`
	// Count is how often an event happened; 0 is once.
	Count int32 `json:"count,omitempty"`
}

const (
	// maxReasons bounds a Report, maxMessage a message's characters, and maxWord those of
	// the words that come from the API beside it.
	maxReasons = 4
	maxMessage = 300
	maxWord    = 120
)

// String is the reason as a line for people.
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

// Title begins the list of the reasons: "Not ready because".
func (r *Report) Title() string { return titles[r.State] }

// Sentence is the first reason, of an object or several: "pod/web: not ready because ...".
// It is empty for a report without reasons.
func (r *Report) Sentence(objects string) string {
	title := r.Title()
	if len(r.Reasons) == 0 || title == "" {
		return ""
	}
	return objects + ": " + strings.ToLower(title[:1]) + title[1:] + " " + r.Reasons[0].String()
}

// Lines are the reasons as lines for people.
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

// rank orders reasons: what matters most is least.
type rank int

const (
	cause       rank = iota // what keeps the object from being as expected
	verdict                 // what a controller concludes
	warning                 // what may have to do with it
	remark                  // what else is known
	consequence             // what follows from a reason, of use only where there is no other
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

// sorted are the reasons that are worth telling: what matters most first, none twice, and
// mere consequences only where there is nothing else.
func (a *answer) sorted() []ranked {
	all := slices.Clone(a.found)
	// Of what is said twice, the object's own word remains.
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

// shortened is text in one line of at most limit characters, without control characters.
func shortened(text string, limit int) string {
	text = strings.Join(strings.FieldsFunc(text, func(r rune) bool { return unicode.IsSpace(r) || unicode.IsControl(r) }), " ")
	if runes := []rune(text); len(runes) > limit {
		return string(runes[:limit-1]) + "…"
	}
	return text
}
