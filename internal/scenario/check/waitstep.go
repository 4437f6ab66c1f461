package check

import (
	"errors"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/spec"
)

// DefaultWithin bounds a wait that gives no limit itself.
const DefaultWithin = time.Minute

// Wait waits for objects, as kubectl wait does.
type Wait struct {
	// Target is KIND/NAME or, with Selector or for a count, KIND.
	Target    string `yaml:"target"`
	Selector  string `yaml:"selector"`
	Namespace string `yaml:"namespace"`
	// For is condition=NAME[=STATUS], jsonpath=EXPRESSION[=VALUE], cel=EXPRESSION,
	// create, delete, rollout, or count=N, count>=N, count<=N.
	For string `yaml:"for"`
	// Within is how much of the cluster's time may pass; default 1m.
	Within spec.Duration `yaml:"within"`

	parsed For
}

// Parsed returns the parsed For.
func (w *Wait) Parsed() *For { return &w.parsed }

// Title is such as "wait for rollout of deployment/web".
func (w *Wait) Title() string {
	target := w.Target
	if w.Selector != "" {
		target += " " + w.Selector
	}
	return "wait for " + w.For + " of " + target
}

// Check reports what is wrong, and parses For.
func (w *Wait) Check(c *spec.Checker) {
	parsed, err := parseFor(w.For)
	c.Check("for", err)
	w.parsed = parsed
	kind, _, targetError := spec.SplitTarget(w.Target)
	switch {
	case parsed.Kind == ForCount, err != nil && strings.HasPrefix(w.For, ForCount):
		c.Check("target", spec.OfKind(w.Target))
	default:
		c.Check("target", spec.NamedOrSelected(w.Target, w.Selector))
	}
	c.Check("selector", spec.LabelSelector(w.Selector))
	if err == nil && targetError == nil {
		c.Check("for", parsed.possible(kind))
	}
	if parsed.Kind == ForCEL {
		c.CEL("for", parsed.Name, []string{"object"}, true)
	}
	if c.IsSet("within") && w.Within == 0 {
		c.Problem("within", "must be more than 0: an expect without within looks at once")
	}
	if w.Within == 0 {
		w.Within = spec.Duration(DefaultWithin)
		if timeout := c.Timeout(); timeout > 0 {
			w.Within = min(w.Within, spec.Duration(timeout))
		}
	}
	c.Within(w.Within)
}

// Remember keeps values for later expressions, which call them remembered.NAME.
type Remember struct {
	Given map[string]spec.Given `yaml:"given"`
	// Values are CEL expressions.
	Values map[string]string `yaml:"values"`
	// Unit is the unit of the values in reports, such as requests a second.
	Unit string `yaml:"unit"`
}

// Check reports what is wrong.
func (r *Remember) Check(c *spec.Checker) {
	if len(r.Values) == 0 {
		c.Problem("values", "is empty: say what to remember")
	}
	names := c.Given(r.Given)
	for name, expression := range r.Values {
		if !spec.IsVariableName(name) {
			c.Check("values", errors.New("a value is called with letters, digits and _"))
		}
		c.CEL("values."+name, expression, names, false)
	}
}
