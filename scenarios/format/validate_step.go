package format

import (
	"errors"
	"fmt"
	"os"
	"slices"
	"strings"
	"time"

	"k8s.io/utils/ptr"
)

// Action is the name of what the step does; empty if it does nothing.
func (s *Step) Action() string {
	if actions := s.actions(); len(actions) > 0 {
		return actions[0]
	}
	return ""
}

// actions are the names of what is set.
func (s *Step) actions() []string {
	var set []string
	for _, a := range []struct {
		name string
		set  bool
	}{
		{"apply", s.Apply != nil},
		{"create", s.Create != nil},
		{"patch", s.Patch != nil},
		{"scale", s.Scale != nil},
		{"delete", s.Delete != nil},
		{"wait", s.Wait != nil},
		{"sleep", s.Sleep != nil},
		{"advance", s.Advance != nil},
		{"script", s.Script != nil},
		{"kubectl", s.Kubectl != nil},
		{"parallel", s.Parallel != nil},
		{"repeat", s.Repeat != nil},
		{"forEach", s.ForEach != nil},
		{"choose", s.Choose != nil},
		{"include", s.Include != nil},
		{"kill", s.Kill != nil},
		{"fault", s.Fault != nil},
		{"expect", s.Expect != nil},
		{"remember", s.Remember != nil},
		{"reconcile", s.Reconcile != nil},
	} {
		if a.set {
			set = append(set, a.name)
		}
	}
	return set
}

func (d *decoder) checkSteps(steps []Step, field string) {
	for i := range steps {
		s := &steps[i]
		at := fmt.Sprintf("%s[%d]", field, i)
		if s.Name != "" && d.names != nil && !slices.Contains(d.names.steps[s.Name], s.Line) {
			if d.names.steps == nil {
				d.names.steps = map[string][]int{}
			}
			d.names.steps[s.Name] = append(d.names.steps[s.Name], s.Line)
		}
		switch actions := s.actions(); len(actions) {
		case 0:
			d.problem(s.Line, at, "a step needs one of %s", strings.Join(stepFields(), ", "))
		case 1:
			d.checkStep(s, join(at, actions[0]))
		default:
			d.problem(s.Line, at, "a step does one thing, but this has %s: make them steps of their own", strings.Join(actions, " and "))
		}
	}
}

func (d *decoder) checkStep(s *Step, field string) {
	switch {
	case s.Apply != nil:
		d.checkApply(s.Apply, s.Line, field)
	case s.Create != nil:
		s.Create.created = true
		d.checkApply(s.Create, s.Line, field)
	case s.Patch != nil:
		d.checkPatch(s.Patch, s.Line, field)
	case s.Scale != nil:
		d.check(s.Line, field+".target", named(s.Scale.Target))
		if s.Scale.Replicas == nil || *s.Scale.Replicas < 0 {
			d.problem(s.Line, field+".replicas", "say how many, 0 or more")
		}
	case s.Delete != nil:
		d.checkDelete(s.Delete, s.Line, field)
	case s.Wait != nil:
		d.checkWait(s.Wait, s.Line, field)
	case s.Script != nil:
		d.checkScript(s.Script, s.Line, field)
	case s.Kubectl != nil:
		d.checkKubectl(s.Kubectl, s.Line, field)
	case s.Kill != nil:
		d.checkKill(s.Kill, s.Line, field)
	case s.Expect != nil:
		d.checkExpect(s.Expect, field)
	case s.Remember != nil:
		d.checkRemember(s.Remember, s.Line, field)
	case s.Fault != nil:
		d.checkFault(s, field)
	case s.Reconcile != nil:
		ways := []string{"polling", "informer", "shared", "custom"}
		if !slices.Contains(ways, s.Reconcile.By) {
			d.problem(s.Line, field+".by", "%q is not a way to reconcile; %s", s.Reconcile.By, didYouMean(s.Reconcile.By, ways))
		}
	default:
		d.checkCompound(s, field)
	}
}

// checkCompound is of steps that hold steps.
func (d *decoder) checkCompound(s *Step, field string) {
	switch {
	case s.Parallel != nil:
		if len(s.Parallel) == 0 {
			d.problem(s.Line, field, "is empty")
		}
		d.checkSteps(s.Parallel, field)
	case s.Repeat != nil:
		d.checkRepeat(s.Repeat, s.Line, field)
	case s.ForEach != nil:
		d.checkForEach(s.ForEach, s.Line, field)
	case s.Choose != nil:
		d.checkChoose(s.Choose, s.Line, field)
	case s.Include != nil:
		d.include(s, field)
	}
}

func (d *decoder) checkPatch(p *Patch, line int, field string) {
	d.check(line, field+".target", named(p.Target))
	types := []string{"strategic", "merge", "json"}
	switch _, list := p.Patch.([]any); {
	case p.Type != "" && !slices.Contains(types, p.Type):
		d.problem(line, field+".type", "%q is not a type of patch; %s", p.Type, didYouMean(p.Type, types))
	case p.Patch == nil:
		d.problem(line, field+".patch", "is missing: say what to change")
	case list != (p.Type == "json"):
		d.problem(line, field+".patch", "must be a list of operations for type json, and a mapping of fields for the others")
	}
}

func (d *decoder) checkDelete(del *Delete, line int, field string) {
	d.check(line, field+".target", namedOrSelected(del.Target, del.Selector))
	d.check(line, field+".selector", labelSelector(del.Selector))
	if del.Grace != nil && time.Duration(*del.Grace)%time.Second != 0 {
		d.problem(line, field+".grace", "must be whole seconds: %v", time.Duration(*del.Grace))
	}
	policies := []string{"background", "foreground", "orphan"}
	if del.Propagation != "" && !slices.Contains(policies, del.Propagation) {
		d.problem(line, field+".propagation", "%q is not a way to delete; %s", del.Propagation, didYouMean(del.Propagation, policies))
	}
}

func (d *decoder) checkWait(w *Wait, line int, field string) {
	parsed, err := parseFor(w.For)
	d.check(line, field+".for", err)
	w.parsed = parsed
	kind, _, targetError := SplitTarget(w.Target)
	switch {
	case parsed.Kind == ForCount, err != nil && strings.HasPrefix(w.For, ForCount):
		d.check(line, field+".target", ofKind(w.Target))
	default:
		d.check(line, field+".target", namedOrSelected(w.Target, w.Selector))
	}
	d.check(line, field+".selector", labelSelector(w.Selector))
	if err == nil && targetError == nil {
		d.check(line, field+".for", parsed.possible(kind))
	}
	if parsed.Kind == ForCEL && d.options.CEL != nil {
		d.check(line, field+".for", d.options.CEL(parsed.Name, []string{"object"}, true))
	}
	if d.isSet(field+".within") && w.Within == 0 {
		d.problem(line, field+".within", "must be more than 0: an expect without within looks at once")
	}
	if w.Within == 0 {
		w.Within = Duration(defaultWithin)
		if d.names != nil && d.names.timeout > 0 {
			w.Within = min(w.Within, Duration(d.names.timeout))
		}
	}
	d.checkWithin(w.Within, line, field)
}

// Parsed is what For says.
func (w *Wait) Parsed() *For { return &w.parsed }

// checkWithin refuses a limit that the run's timeout never lets come.
func (d *decoder) checkWithin(within Duration, line int, field string) {
	if d.names != nil && d.names.timeout > 0 && time.Duration(within) > d.names.timeout {
		d.problem(line, field+".within", "is %v, but spec.timeout ends the run after %v: raise that, or lower this", time.Duration(within), d.names.timeout)
	}
}

func (d *decoder) checkScript(s *Script, line int, field string) {
	if strings.TrimSpace(s.Run) == "" {
		d.problem(line, field+".run", "is missing: say what to run")
	}
	d.checkSpeed(&s.Speed, line, field)
	if s.Dir == "" {
		s.Dir = d.dir()
	} else if s.Dir = d.path(s.Dir); d.options.Files == nil {
		_, err := os.ReadDir(s.Dir)
		d.check(line, field+".dir", notThere(s.Dir, err))
	}
	env := map[string]string{}
	for name, value := range d.vars {
		env[name] = value
	}
	for name, value := range s.Env {
		env[name] = value
	}
	s.Env = env
}

func (d *decoder) checkSpeed(speed **int, line int, field string) {
	if *speed == nil {
		*speed = ptr.To(defaultSpeed)
	}
	if **speed < 1 {
		d.problem(line, field+".speed", "must be at least 1: %d", **speed)
	}
}

func (d *decoder) checkKubectl(k *Kubectl, line int, field string) {
	if len(k.Args) == 0 {
		d.problem(line, field+".args", "is missing, such as [get, pods]")
	} else if k.Args[0] == "kubectl" {
		d.problem(line, field+".args", "are the arguments alone: leave out kubectl")
	}
	d.checkSpeed(&k.Speed, line, field)
}

func (d *decoder) checkKill(k *Kill, line int, field string) {
	switch {
	case k.Pods == nil && k.Node == "":
		d.problem(line, field, "needs pods or node")
		return
	case k.Pods != nil && k.Node != "":
		d.problem(line, field, "has both pods and node: make them steps of their own")
		return
	case k.Pods == nil:
		return
	case k.Pods.Selector == "":
		d.problem(line, field+".pods.selector", "is missing: say which pods, such as app=web")
	case k.Pods.Count < 0:
		d.problem(line, field+".pods.count", "must not be negative: %d", k.Pods.Count)
	}
	d.check(line, field+".pods.selector", labelSelector(k.Pods.Selector))
	d.check(line, field+".pods.fieldSelector", fieldSelector(k.Pods.FieldSelector))
	k.Pods.Count = max(k.Pods.Count, 1)
	if k.Pods.Namespace == "" {
		k.Pods.Namespace = "default"
	}
}

func (d *decoder) checkRepeat(r *Repeat, line int, field string) {
	if r.Times <= 0 {
		d.problem(line, field+".times", "must be 1 or more: how often, or with until how often at most")
	}
	if r.Var != "" && !variableName.MatchString(r.Var) {
		d.problem(line, field+".var", "%q is not a variable's name", r.Var)
	}
	if r.Until != nil {
		if r.Until.Within != 0 {
			d.problem(line, field+".until.within", "has no meaning here: it is looked at before each turn")
		}
		d.checkExpect(r.Until, field+".until")
	}
	vars := map[string]string{}
	if r.Var != "" {
		vars[r.Var] = "0"
	}
	d.checkBody(&r.Steps, vars, line, field+".steps")
}

// checkBody reads a body once, to find what is wrong with it.
func (d *decoder) checkBody(b *Body, vars map[string]string, line int, field string) {
	if b.node == nil {
		d.problem(line, field, "is empty: say what to do")
		return
	}
	// With may be called at any time: what it decodes with must not change, and must
	// not grow what is known of the whole.
	known := *d
	known.checking = false
	b.decoder, b.field = &known, field
	reading := d.with(vars)
	reading.checking = false
	b.Steps = reading.steps(b.node, field)
	if len(b.Steps) == 0 {
		d.problem(line, field, "is empty: say what to do")
	}
}

func (d *decoder) checkForEach(f *ForEach, line int, field string) {
	if f.Var == "" {
		f.Var = "ITEM"
	}
	switch {
	case !variableName.MatchString(f.Var):
		d.problem(line, field+".var", "%q is not a variable's name", f.Var)
	case (f.Target == "") == (len(f.In) == 0):
		d.problem(line, field, "needs one of in (a list of values) and target (a kind of objects)")
	case f.Target != "":
		d.check(line, field+".target", ofKind(f.Target))
		d.check(line, field+".selector", labelSelector(f.Selector))
	}
	first := "0"
	for _, value := range f.In {
		first = value
		d.checkBody(&f.Steps, map[string]string{f.Var: value}, line, field+".steps")
	}
	if len(f.In) == 0 {
		d.checkBody(&f.Steps, map[string]string{f.Var: first}, line, field+".steps")
	}
}

func (d *decoder) checkChoose(c *Choose, line int, field string) {
	if c.Count == 0 {
		c.Count = 1
	}
	if len(c.Of) == 0 {
		d.problem(line, field+".of", "is empty: say what may be chosen")
	} else if c.Count < 0 || c.Count > len(c.Of) {
		d.problem(line, field+".count", "%d of %d cannot be chosen", c.Count, len(c.Of))
	}
	for i := range c.Of {
		o := &c.Of[i]
		at := fmt.Sprintf("%s.of[%d]", field, i)
		if o.Weight < 0 {
			d.problem(line, at+".weight", "must not be negative: %d", o.Weight)
		}
		if o.Weight == 0 {
			o.Weight = 1
		}
		if len(o.Steps) == 0 {
			d.problem(line, at+".steps", "is empty: say what to do")
		}
		d.checkSteps(o.Steps, at+".steps")
	}
}

func (d *decoder) checkFault(s *Step, field string) {
	for _, problem := range s.Fault.Validate() {
		d.problem(max(problem.Line, s.Line), strings.TrimSuffix(join(field, problem.Field), "."), "%s", problem.Message)
	}
	if s.Fault.Endless() && !s.Background {
		d.problem(s.Line, field, "happens again and again to the end of the scenario: give it times or during, or the step background: true")
	}
}

func (d *decoder) checkRemember(r *Remember, line int, field string) {
	if len(r.Values) == 0 {
		d.problem(line, field+".values", "is empty: say what to remember")
	}
	names := d.checkGiven(r.Given, line, field)
	for name, expression := range r.Values {
		if !variableName.MatchString(name) {
			d.check(line, field+".values", errors.New("a value is called with letters, digits and _"))
		}
		if d.options.CEL != nil {
			d.check(line, field+".values."+name, d.options.CEL(expression, names, false))
		}
	}
}
