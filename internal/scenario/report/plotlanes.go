package report

import (
	"cmp"
	"fmt"
	"html/template"
	"maps"
	"math"
	"slices"
	"strings"
	"time"

	"minikcm.dev/minikcm/internal/scenario/runrecord"
)

const (
	laneHeight = 19.0
	lanesTop   = 6.0
	// maxLanes bounds the rows of a plot.
	maxLanes = 40
)

// plotSteps draws the steps, the faults and the checks as bars, one a row.
func plotSteps(run *runrecord.Run, a axis) template.HTML {
	var shown []int
	left := 0
	for i := range run.Spans {
		if depthOf(run, i) > 2 || len(shown) == maxLanes {
			left++
			continue
		}
		shown = append(shown, i)
	}
	if len(shown) == 0 {
		return ""
	}
	rows := len(shown)
	if left > 0 {
		rows++
	}
	bottom := lanesTop + float64(rows)*laneHeight
	s := newSVG(bottom+axisHeight, "Steps, faults and checks over time")
	drawBands(s, run, a, lanesTop, bottom, false)
	a.draw(s, lanesTop, bottom)
	for i, at := range shown {
		drawSpan(s, run, a, at, lanesTop+float64(i)*laneHeight)
	}
	if left > 0 {
		s.text("lane", "end", plotLeft-8, bottom-6, fmt.Sprintf("and %d more", left))
	}
	return s.html()
}

func drawSpan(s *svg, run *runrecord.Run, a axis, i int, y float64) {
	span := &run.Spans[i]
	class := "span-" + string(span.Kind)
	if span.Failure != "" {
		class = "span-failed"
	}
	x := a.x(span.Begin)
	s.text("lane", "end", plotLeft-8, y+13, shorter(span.Title, 26-2*depthOf(run, i)))
	s.round(class, x, y+4, max(a.x(ending(run, span))-x, 3), laneHeight-8, spanTitle(run, span))
	for _, n := range span.Notes {
		if n.At > span.Begin {
			s.line("note", a.x(n.At), y+4, a.x(n.At), y+laneHeight-4)
		}
	}
}

// plotEvents draws, for each reason of events, when and how often there were some.
func plotEvents(run *runrecord.Run, a axis) template.HTML {
	const columns = 160
	type lane struct {
		reason  string
		warning bool
		counts  [columns]int
		total   int
	}
	lanes := map[string]*lane{}
	for _, e := range run.Events {
		l := lanes[e.Reason]
		if l == nil {
			l = &lane{reason: e.Reason, warning: e.Type == "Warning"}
			lanes[e.Reason] = l
		}
		l.counts[int(min(max(e.At, 0)*columns/max(a.end, 1), columns-1))]++
		l.total++
	}
	if len(lanes) == 0 {
		return ""
	}
	order := slices.SortedFunc(maps.Values(lanes), func(x, y *lane) int {
		return cmp.Or(cmp.Compare(y.total, x.total), strings.Compare(x.reason, y.reason))
	})
	order = order[:min(len(order), 16)]
	bottom := lanesTop + float64(len(order))*laneHeight
	s := newSVG(bottom+axisHeight, "Events by reason over time")
	drawBands(s, run, a, lanesTop, bottom, false)
	a.draw(s, lanesTop, bottom)
	for i, l := range order {
		y := lanesTop + float64(i)*laneHeight
		s.text("lane", "end", plotLeft-8, y+13, shorter(l.reason, 24))
		class := "event"
		if l.warning {
			class = "event warning"
		}
		for column, n := range l.counts {
			if n > 0 {
				at := a.end * time.Duration(column) / columns
				s.circle(class, a.x(at), y+laneHeight/2, math.Min(2.4+1.4*math.Log2(float64(n)), 8), fmt.Sprintf("%d × %s at %s", n, l.reason, offset(at)))
			}
		}
	}
	return s.html()
}

// plotActivity draws the writes and reconciles of the busiest controllers over time: a row of
// small bars for each.
func plotActivity(run *runrecord.Run, a axis) template.HTML {
	busiest := slices.DeleteFunc(slices.Clone(run.Controllers), func(c runrecord.Controller) bool { return total(c.Writes)+total(c.Reconciles) == 0 })
	busiest = busiest[:min(len(busiest), 18)]
	if len(busiest) == 0 {
		return ""
	}
	const height = 26.0
	bottom := lanesTop + float64(len(busiest))*height
	s := newSVG(bottom+axisHeight, "Activity of controllers over time")
	drawBands(s, run, a, lanesTop, bottom, false)
	a.draw(s, lanesTop, bottom)
	for i, c := range busiest {
		y := lanesTop + float64(i)*height
		s.text("lane", "end", plotLeft-8, y+13, shorter(strings.TrimSuffix(c.Name, "-controller"), 24))
		s.text("count", "end", plotLeft-8, y+23, countText(c))
		s.line("base", plotLeft, y+height-3, plotWidth-plotRight, y+height-3)
		drawBars(s, a, c.Reconciles, c.Width, "bar reconcile", y+height-3, height-7, "reconciles")
		drawBars(s, a, c.Writes, c.Width, "bar write", y+height-3, height-7, "writes")
	}
	return s.html()
}

func countText(c runrecord.Controller) string {
	var parts []string
	if n := total(c.Writes); n > 0 {
		parts = append(parts, fmt.Sprintf("%d w", n))
	}
	if n := total(c.Reconciles); n > 0 {
		parts = append(parts, fmt.Sprintf("%d r", n))
	}
	if n := total(c.Failures); n > 0 {
		parts = append(parts, fmt.Sprintf("%d failed", n))
	}
	return strings.Join(parts, " · ")
}

// drawBars draws counts on a scale of roots, so that one of a thousand is still seen.
func drawBars(s *svg, a axis, counts []int64, width time.Duration, class string, base, height float64, what string) {
	if len(counts) == 0 {
		return
	}
	most := float64(slices.Max(counts))
	var d strings.Builder
	w := math.Max(a.x(width)-a.x(0), 1.6)
	for i, n := range counts {
		if n > 0 {
			h := math.Max(height*math.Sqrt(float64(n)/most), 1.5)
			fmt.Fprintf(&d, "M%s %sv-%sh%sv%sz", num(a.x(time.Duration(i)*width)), num(base), num(h), num(w), num(h))
		}
	}
	if d.Len() > 0 {
		s.path(class, d.String(), fmt.Sprintf("%d %s, at most %d in %s", total(counts), what, int64(most), width))
	}
}
