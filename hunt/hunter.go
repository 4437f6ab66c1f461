package hunt

import (
	"cmp"
	"fmt"
	"slices"
	"strings"
	"sync"
	"sync/atomic"
	"testing"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/clock"
)

// hunter is one call of Run or Replay.
type hunter struct {
	settings
	t        testing.TB // nil without a test
	operator Operator
	workload Workload

	// newTB returns the test of a run; nil if the operator is a program.
	newTB func() *trialTB
	// attempt makes a run. It is exact if one seed gives one course.
	attempt func(seed uint64, steps []Step, disturbances []Disturbance) *outcome
	exact   bool
	// stopped reports whether no more runs are to begin, and progressed is called after each; nil: none is.
	stopped    func() bool
	progressed func(Progress)

	identity    *minikcm.Identity
	base        *outcome // undisturbed
	undisturbed []*outcome
	points      []Point // of the undisturbed runs
	// parts are the parts of the clusters of disturbed runs, and partsBase is base without what they do not read; nil: they are whole.
	parts     *parts
	partsBase *outcome
	// noise are the places in which undisturbed runs of other seeds end differently.
	noise map[string]bool
	// usual has the misdeeds of undisturbed runs.
	usual conduct
	// tried counts the disturbed runs, unmet those whose write did not occur, and left the disturbances that the plan did not come to.
	tried, unmet, left int
	findings           []*finding
}

// finding is one bug: disturbed runs that end in the same way.
type finding struct {
	first *outcome
	// steps are the steps that are needed.
	steps []Step
	// verdict describes the end.
	verdict verdict
	// runs counts the disturbed runs that end like this. others are some of them, if runs are not exact.
	runs   int
	others []*outcome
	// repeated counts the repetitions of a run that is not exact, and cameBack those that ended like this.
	repeated, cameBack int
}

// maxOthers caps the runs that are repeated if a first one has not come back.
const maxOthers = 4

func newHunter(t testing.TB, operator Operator, workload Workload, opts []Option) *hunter {
	t.Helper()
	if operator.Start == nil {
		t.Fatal("hunt: the operator has no Start")
	}
	if len(workload.Steps) == 0 {
		t.Fatal("hunt: the workload has no steps")
	}
	operator.User = cmp.Or(operator.User, DefaultUser)
	h := &hunter{settings: newSettings(opts), t: t, operator: operator, workload: workload, noise: map[string]bool{}, usual: conduct{}, exact: true}
	h.attempt = h.try
	h.newTB = func() *trialTB { return newTrialTB(t.Context(), t) }
	first := h.newTB()
	first.within(func() { h.identity = h.newCluster(first, h.seed, nil, nil).Identity() })
	if failure := first.failure(); failure != "" {
		t.Fatalf("hunt: %s", failure)
	}
	return h
}

// otherSeeds is how many undisturbed runs of other seeds show what only depends on the order of work.
const otherSeeds = 3

// learn makes the undisturbed runs.
func (h *hunter) learn() error {
	runs := make([]*outcome, 2+otherSeeds)
	var failed atomic.Bool
	h.inParallel(len(runs), func(i int) {
		if failed.Load() { // as the others would
			return
		}
		runs[i] = h.attempt(h.seed+uint64(max(i-1, 0)), h.workload.Steps, nil)
		if runs[i].failure != "" {
			failed.Store(true)
		}
	})
	h.base = runs[0]
	for _, run := range runs {
		if run != nil && run.failure != "" {
			return fmt.Errorf("the undisturbed run fails: %s%s", run.failure, lastWrites(run.calls))
		}
	}
	if i, differ := firstDifference(runs[0].calls, runs[1].calls); differ && h.exact {
		return fmt.Errorf("two undisturbed runs of one seed differ: the operator uses something that the seed does not determine, such as the machine's clock or the order of a map:%s\nin the other run:%s",
			indented(around(runs[0].calls, i)), indented(around(runs[1].calls, i)))
	}
	h.points = h.base.points()
	if !h.exact {
		for _, run := range runs[1:] {
			met := run.points()
			h.points = slices.DeleteFunc(h.points, func(p Point) bool { return !slices.Contains(met, p) })
		}
	}
	if len(h.points) == 0 {
		return fmt.Errorf("%s made no write in the undisturbed run, so there is nothing to disturb: see whether Operator.User is the user of its requests", h.operator.User)
	}
	for _, run := range runs[1:] {
		for _, d := range differences(run.state, h.base.state) {
			h.noise[d.place()] = true
		}
	}
	for _, run := range runs {
		for key := range run.conduct {
			h.usual[key] = misdeed{}
		}
	}
	h.undisturbed = runs
	return nil
}

// firstDifference returns the number of the first call in which two runs differ.
func firstDifference(a, b []Call) (i int, differ bool) {
	for i := range max(len(a), len(b)) {
		if i >= len(a) || i >= len(b) || a[i].Point != b[i].Point || a[i].Code != b[i].Code {
			return i, true
		}
	}
	return 0, false
}

// points returns the writes of the undisturbed run that had an effect, or might have had one.
func (o *outcome) points() []Point {
	var points []Point
	for _, call := range o.calls {
		if call.Point != (Point{}) {
			points = append(points, call.Point)
		}
	}
	return points
}

// singles returns the disturbances that are tried alone, in their order.
func (h *hunter) singles() []Disturbance {
	return slices.DeleteFunc(plan(h.points, watchedOf(h.base), h.base.acts), func(d Disturbance) bool { return h.without[d.Action] })
}

// hunt makes the disturbed runs.
func (h *hunter) hunt() {
	if h.exact {
		defer relaxGC()()
		h.leaveOut()
	}
	singles := h.singles()
	if len(singles) == 0 {
		return
	}
	list := make([][]Disturbance, 0, h.trials)
	for _, d := range singles {
		list = append(list, []Disturbance{d})
	}
	chance := clock.NewRandom(h.seed)
	for range max(h.trials-len(list), 0) {
		list = append(list, pair(singles, chance))
	}
	list = list[:min(len(list), h.trials)]
	outcomes := make([]*outcome, len(list))
	verdicts := make([]verdict, len(list))
	tried := newTally(len(list), len(h.points))
	h.inParallel(len(list), func(i int) {
		if h.stopped != nil && h.stopped() {
			return
		}
		o, v := h.disturbed(list[i])
		outcomes[i], verdicts[i] = o, v
		if !verdicts[i].bad() {
			o.record, o.state = nil, nil
		}
		if p := tried.add(list[i], verdicts[i]); h.progressed != nil {
			h.progressed(p)
		}
	})
	h.left = len(singles)
	for _, o := range outcomes[:min(len(outcomes), len(singles))] {
		if o != nil {
			h.left--
		}
	}
	for i, o := range outcomes { // in the order of the plan, so that one seed finds the same
		if o != nil {
			h.add(o, verdicts[i])
		}
	}
	for _, f := range h.findings {
		h.shrink(f)
	}
}

// add counts a disturbed run, whose end may be a finding.
func (h *hunter) add(o *outcome, v verdict) {
	h.tried++
	if len(o.unmet) > 0 {
		h.unmet++
	}
	if !v.bad() {
		return
	}
	same := slices.IndexFunc(h.findings, func(f *finding) bool { return f.verdict.signature() == v.signature() })
	if same >= 0 {
		f := h.findings[same]
		f.runs++
		if !h.exact && len(f.others) < maxOthers {
			f.others = append(f.others, o)
		}
		return
	}
	h.findings = append(h.findings, &finding{first: o, steps: h.workload.Steps, verdict: v, runs: 1})
}

func watchedOf(o *outcome) []string {
	var resources []string
	for resource := range o.watched {
		resources = append(resources, resource)
	}
	slices.Sort(resources)
	return resources
}

// inParallel calls do with 0 to n-1.
func (h *hunter) inParallel(n int, do func(i int)) {
	next := make(chan int)
	var workers sync.WaitGroup
	for range min(h.parallel, n) {
		workers.Go(func() {
			for i := range next {
				do(i)
			}
		})
	}
	for i := range n {
		next <- i
	}
	close(next)
	workers.Wait()
}

// verdict lists the faults of the end of a run.
type verdict struct {
	failure     string
	differences []difference
	// swings says that the operator does not come to rest.
	swings string
	// conduct has the misdeeds of the operator on its way.
	conduct []misdeed
}

func (v verdict) bad() bool { return v.differs() || len(v.conduct) > 0 }

// differs reports whether the end of the run itself is bad.
func (v verdict) differs() bool { return v.failure != "" || len(v.differences) > 0 || v.swings != "" }

// signature is equal for findings that are probably one bug.
func (v verdict) signature() string {
	var places []string
	for _, d := range v.differences {
		places = append(places, d.kind+" "+digitless(d.place()))
	}
	slices.Sort(places)
	first, _, _ := strings.Cut(v.failure, "\n")
	text := fmt.Sprint(digitless(first), v.swings != "", slices.Compact(places))
	if !v.differs() && len(v.conduct) > 0 {
		text += digitless(fmt.Sprint(v.conduct))
	}
	return text
}

func digitless(text string) string {
	return strings.Map(func(r rune) rune {
		if r >= '0' && r <= '9' {
			return '#'
		}
		return r
	}, text)
}

// tolerated is by how much more an operator may write at rest than it does undisturbed.
const tolerated = 5

// judge compares the end of a run with the undisturbed one of the same steps.
func (h *hunter) judge(o, base *outcome) verdict {
	if o.void {
		return verdict{}
	}
	v := verdict{failure: o.failure}
	if o.failure != "" {
		return v
	}
	acted := slices.ContainsFunc(o.disturbances, func(d Disturbance) bool { return d.isAct() })
	for _, d := range differences(o.state, base.state) {
		if !h.noise[d.place()] && !(acted && d.isTrace()) {
			v.differences = append(v.differences, d)
		}
	}
	if o.late > 2*base.late+tolerated {
		v.swings = fmt.Sprintf("it wrote %d times in the last %s of the run, undisturbed %d times. Its last writes to one object:\n    %s", o.late, h.workload.rest()/10, base.late, strings.Join(o.swings, "\n    "))
	}
	v.conduct = o.conduct.beyond(h.usual)
	return v
}
