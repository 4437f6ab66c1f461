package report

import (
	"fmt"
	"html/template"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

const (
	podsTop    = 18.0
	podsBottom = 218.0
)

// plotPods draws the pods by phase, one above the other, with the faults behind them.
func plotPods(run *runrecord.Run, a axis) template.HTML {
	if len(run.Pods.Phases) == 0 {
		return ""
	}
	s := newSVG(podsBottom+axisHeight, "Pods by phase over time")
	most := mostPods(run)
	y := func(n int) float64 { return podsBottom - (podsBottom-podsTop)*float64(n)/float64(most) }
	drawBands(s, run, a, podsTop, podsBottom, true)
	for _, n := range levels(most) {
		s.line("grid", plotLeft, y(n), plotWidth-plotRight, y(n))
		s.text("tick", "end", plotLeft-8, y(n)+4, fmt.Sprint(n))
	}
	a.draw(s, podsTop, podsBottom)
	below := make([]int, intervals(run))
	for _, p := range stacking(run) {
		curve := run.Pods.Phases[p]
		s.path("area "+phaseClass(p), area(run, a, y, below, curve), string(p))
		for i := range below {
			below[i] += curve.Last[min(i, len(curve.Last)-1)]
		}
	}
	drawDips(s, run, a, y)
	s.text("lane", "end", plotLeft-34, podsTop+6, "pods")
	return s.html()
}

func intervals(run *runrecord.Run) (n int) {
	for _, c := range run.Pods.Phases {
		n = max(n, len(c.Last))
	}
	return n
}

func mostPods(run *runrecord.Run) int {
	most := 1
	for i := range intervals(run) {
		sum := 0
		for _, c := range run.Pods.Phases {
			sum += c.Last[min(i, len(c.Last)-1)]
		}
		most = max(most, sum)
	}
	return most
}

// levels are the counts that get a line.
func levels(most int) []int {
	step := 1
	for i := 0; most/step > 5; i++ {
		step = []int{2, 5, 10}[i%3] * pow10(i/3)
	}
	var all []int
	for n := step; n <= most; n += step {
		all = append(all, n)
	}
	return all
}

func pow10(n int) int {
	p := 1
	for range n {
		p *= 10
	}
	return p
}

// stacking is the order of the areas, from the ground: what should be there first.
func stacking(run *runrecord.Run) []runrecord.Phase {
	order := []runrecord.Phase{runrecord.Ready, runrecord.Running, runrecord.Pending, runrecord.Terminating, runrecord.FailedPhase, runrecord.Succeeded}
	found := phases(run)
	slices.SortStableFunc(found, func(a, b runrecord.Phase) int { return position(order, a) - position(order, b) })
	return found
}

func phaseClass(p runrecord.Phase) string { return "phase-" + strings.ToLower(string(p)) }

// area is a path around one phase's part of the stack, in steps.
func area(run *runrecord.Run, a axis, y func(int) float64, below []int, curve runrecord.Curve) string {
	var upper, lower []string
	for i := range below {
		n := curve.Last[min(i, len(curve.Last)-1)]
		from, to := a.x(time.Duration(i)*run.Pods.Width), a.x(time.Duration(i+1)*run.Pods.Width)
		if i == len(below)-1 {
			to = a.x(a.end)
		}
		upper = append(upper, fmt.Sprintf("L%s %sH%s", num(from), num(y(below[i]+n)), num(to)))
		lower = append(lower, fmt.Sprintf("L%s %sH%s", num(to), num(y(below[i])), num(from)))
	}
	slices.Reverse(lower)
	return "M" + strings.TrimPrefix(strings.Join(upper, ""), "L") + strings.Join(lower, "") + "Z"
}

// drawDips shows where fewer pods were ready for a moment than an interval's end shows.
func drawDips(s *svg, run *runrecord.Run, a axis, y func(int) float64) {
	ready, ok := run.Pods.Phases[runrecord.Ready]
	if !ok {
		return
	}
	for i := 1; i < len(ready.Min); i++ {
		level := min(ready.Last[i-1], ready.Last[i])
		if ready.Min[i] >= level {
			continue
		}
		x := a.x(time.Duration(i)*run.Pods.Width + run.Pods.Width/2)
		s.b.WriteString(fmt.Sprintf(`<line class="dip" x1="%s" y1="%s" x2="%s" y2="%s"><title>%s</title></line>`, num(x), num(y(ready.Min[i])), num(x), num(y(level)),
			fmt.Sprintf("at %s for a moment only %d ready", offset(time.Duration(i)*run.Pods.Width), ready.Min[i])))
	}
}

// nameWidth is about how wide a letter of a fault's name is.
const nameWidth = 6.5

// drawBands draws each fault behind a plot: a band while it goes on, or a line.
func drawBands(s *svg, run *runrecord.Run, a axis, top, bottom float64, named bool) {
	last := -1.0
	for i := range run.Spans {
		span := &run.Spans[i]
		if span.Kind != runrecord.Fault {
			continue
		}
		from, to := a.x(span.Begin), a.x(ending(run, span))
		if to-from < 2 {
			s.line("fault-line", from, top-4, from, bottom)
		} else {
			s.rect("fault-band", from, top, to-from, bottom-top, spanTitle(run, span))
		}
		if name := "⚡ " + shorter(span.Title, 34); named && from > last {
			s.text("fault-name", anchorAt(from), from+2, top-6, name)
			last = from + nameWidth*float64(len([]rune(name)))
		}
	}
}

func anchorAt(x float64) string {
	if x > plotWidth*0.8 {
		return "end"
	}
	return "start"
}

func shorter(text string, most int) string {
	if runes := []rune(text); len(runes) > most {
		return string(runes[:most-1]) + "…"
	}
	return text
}

func ending(run *runrecord.Run, span *runrecord.Span) time.Duration {
	if span.End < 0 {
		return run.Cluster
	}
	return span.End
}

func spanTitle(run *runrecord.Run, span *runrecord.Span) string {
	text := fmt.Sprintf("%s: %s to %s", span.Title, offset(span.Begin), offset(ending(run, span)))
	if span.Failure != "" {
		text += "\n" + span.Failure
	}
	return text
}
