package writerecord

import (
	"fmt"
	"io"
	"slices"
	"strings"
	"time"
)

// maxPrinted caps the changed fields printed for a write.
const maxPrinted = 3

// Print writes the explanation as a tree for people. If start is set, times are offsets
// from it. It returns the error of w.
func (e *Explanation) Print(w io.Writer, start time.Time) error {
	var b strings.Builder
	p := &printer{b: &b, namespace: e.Object.Namespace}
	fmt.Fprintf(&b, "%s\n", e.summary())
	if e.Now != nil && len(e.Now.Reasons) > 0 {
		fmt.Fprintf(&b, "\n%s\n", e.Now.Title())
		for _, line := range e.Now.Lines() {
			fmt.Fprintf(&b, "  %s\n", line)
		}
	}
	for _, part := range []struct {
		title string
		link  *Link
	}{{"Created", e.Creation}, {"Last changed", e.Change}, {"Deleted", e.Deletion}} {
		if part.link == nil {
			continue
		}
		title := part.title
		if part.link == e.Deletion && part.link.Effect != Removed {
			title = "To be deleted"
		}
		fmt.Fprintf(&b, "\n%s %s\n", title, textOfTime(part.link.Time, start))
		p.print(part.link, "  ", "  ", part.link.Time)
	}
	if len(e.Refused) > 0 {
		b.WriteString("\nRefused\n")
		for i := range e.Refused {
			fmt.Fprintf(&b, "  %s\n", e.Refused[i].line(start))
		}
	}
	if e.Creation == nil && e.Writes > 0 {
		fmt.Fprintf(&b, "\nIts creation is not in the record, which begins with revision %d", e.Since)
		if e.Forgotten > 0 {
			fmt.Fprintf(&b, ": %d older writes are forgotten", e.Forgotten)
		}
		b.WriteString(".\n")
	}
	_, err := io.WriteString(w, b.String())
	return err
}

// summary returns the state of the object as a sentence.
func (e *Explanation) summary() string {
	state := "exists"
	switch {
	case e.Object.Effect == Removed:
		state = "is gone"
	case e.Deletion != nil:
		state = "is being deleted"
	}
	name := e.Object.object(e.Object.Namespace)
	if e.Object.Namespace != "" {
		name += " in namespace " + e.Object.Namespace
	}
	return fmt.Sprintf("%s %s; %s.", name, state, e.times())
}

// times returns how often the object was written.
func (e *Explanation) times() string {
	switch e.Writes {
	case 0:
		text := fmt.Sprintf("the record, which begins with revision %d, has no write of it", e.Since)
		if e.Forgotten > 0 {
			text += fmt.Sprintf(": %d older writes are forgotten", e.Forgotten)
		}
		return text
	case 1:
		return "it was written once"
	}
	return fmt.Sprintf("it was written %d times", e.Writes)
}

// object returns the object's name, with its namespace unless that is home.
func (w *Write) object(home string) string {
	kind := w.Kind
	if kind == "" {
		kind = w.Resource.Resource
	}
	name := strings.ToLower(kind) + "/" + w.Name
	if w.Namespace != "" && w.Namespace != home {
		name += " in " + w.Namespace
	}
	return name
}

// printer prints a tree.
type printer struct {
	b *strings.Builder
	// namespace is omitted from the names of objects.
	namespace string
}

// print writes a link and, beneath it, its causes. It includes the time if it differs
// from the effect's.
func (p *printer) print(l *Link, first, rest string, effect time.Time) {
	p.b.WriteString(first + l.sentence(p.namespace))
	if d := effect.Sub(l.Time); d >= time.Millisecond {
		p.b.WriteString(", " + ago(d) + " before")
	}
	fmt.Fprintf(p.b, "  [%d]\n", l.Revision)
	for i, because := range l.Because {
		branch, trunk := "├─ ", "│  "
		if i == len(l.Because)-1 && l.Note == "" {
			branch, trunk = "└─ ", "   "
		}
		p.print(because, rest+branch+because.conjunction(), rest+trunk, l.Time)
	}
	if l.Note != "" {
		fmt.Fprintf(p.b, "%s└─ %s\n", rest, l.Note)
	}
}

// conjunction returns the words before a cause. For an inferred one they say so, and
// why it is likely.
func (l *Link) conjunction() string {
	switch l.Inferred {
	case "":
		return "because "
	case ItsOwner:
		return "probably because its controller owner "
	case ItsPart:
		return "probably because what it owns, "
	}
	return "probably because "
}

func ago(d time.Duration) string {
	switch {
	case d >= time.Minute:
		d = d.Round(time.Second)
	case d >= time.Second:
		d = d.Round(10 * time.Millisecond)
	default:
		d = d.Round(time.Millisecond)
	}
	return d.String()
}

// sentence returns the write as a sentence: object, verb, writer and changes.
func (l *Link) sentence(home string) string {
	verb := "changed"
	switch {
	case l.Effect == Created:
		verb = "created"
	case l.Effect == Removed:
		verb = "removed"
	case l.marks():
		verb = "marked for deletion"
	case l.Subresource == "binding":
		verb = "bound"
	case l.scaled() != nil:
		verb = "scaled"
	}
	object := l.object(home)
	switch l.Inferred {
	case ItsPart:
		object += ","
	case SameOwner:
		object += ", of the same owner,"
	}
	text := fmt.Sprintf("%s was %s by %s", object, verb, l.Writer())
	if !l.own() && l.Actor != "" && l.Actor != l.Writer() {
		text += " (" + l.Actor + ")"
	}
	if changes := l.changesText(); changes != "" {
		text += ": " + changes
	}
	return text
}

func (l *Link) scaled() *Change {
	for i := range l.Changes {
		if l.Changes[i].Path == "spec.replicas" {
			return &l.Changes[i]
		}
	}
	return nil
}

// changesText returns the most informative changes.
func (l *Link) changesText() string {
	if l.Effect != Changed || l.marks() {
		return ""
	}
	changes := slices.Clone(l.Changes)
	slices.SortStableFunc(changes, func(a, b Change) int { return rank(a.Path) - rank(b.Path) })
	var texts []string
	for i, c := range changes {
		if i == maxPrinted {
			texts = append(texts, fmt.Sprintf("%d more", len(changes)-maxPrinted))
			break
		}
		texts = append(texts, c.String())
	}
	return strings.Join(texts, ", ")
}

// rank is lower for more informative paths.
func rank(path string) int {
	switch {
	case strings.HasPrefix(path, "spec."), path == "metadata.deletionTimestamp":
		return 0
	case path == "status.phase", strings.HasPrefix(path, "status.conditions[Ready]"):
		return 1
	case strings.HasSuffix(path, ".message"), strings.HasSuffix(path, ".reason"), strings.Contains(path, "IP"):
		return 4
	case strings.HasPrefix(path, "status.conditions"):
		return 3
	case strings.HasPrefix(path, "metadata."):
		return 5
	}
	return 2
}

// String formats the change for people.
func (c Change) String() string {
	switch {
	case c.From == "":
		return c.Path + " = " + c.To
	case c.To == "":
		return c.Path + " unset"
	}
	return c.Path + " " + c.From + " → " + c.To
}
