package report

import (
	"fmt"
	"html"
	"html/template"
	"strings"
	"time"
)

// The size of all plots, in units of the SVG's own; the page scales them.
const (
	plotWidth  = 1000.0
	plotLeft   = 190.0
	plotRight  = 12.0
	axisHeight = 22.0
)

// svg is a drawing in the making. Colours come from the page's classes.
type svg struct {
	b      strings.Builder
	height float64
	label  string
}

func newSVG(height float64, label string) *svg { return &svg{height: height, label: label} }

func (s *svg) html() template.HTML {
	// whatever comes from a run is escaped where it is drawn
	return template.HTML(fmt.Sprintf(`<svg viewBox="0 0 %s %s" role="img" aria-label="%s" preserveAspectRatio="xMidYMid meet">%s</svg>`,
		num(plotWidth), num(s.height), html.EscapeString(s.label), s.b.String()))
}

// num writes a coordinate shortly.
func num(x float64) string {
	text := fmt.Sprintf("%.1f", x)
	return strings.TrimSuffix(text, ".0")
}

func (s *svg) rect(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(&s.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s"%s`, class, num(x), num(y), num(w), num(h), titled(title, "rect"))
}

func (s *svg) round(class string, x, y, w, h float64, title string) {
	fmt.Fprintf(&s.b, `<rect class="%s" x="%s" y="%s" width="%s" height="%s" rx="3"%s`, class, num(x), num(y), num(w), num(h), titled(title, "rect"))
}

func (s *svg) line(class string, x1, y1, x2, y2 float64) {
	fmt.Fprintf(&s.b, `<line class="%s" x1="%s" y1="%s" x2="%s" y2="%s"/>`, class, num(x1), num(y1), num(x2), num(y2))
}

func (s *svg) circle(class string, x, y, r float64, title string) {
	fmt.Fprintf(&s.b, `<circle class="%s" cx="%s" cy="%s" r="%s"%s`, class, num(x), num(y), num(r), titled(title, "circle"))
}

func (s *svg) path(class, d, title string) {
	fmt.Fprintf(&s.b, `<path class="%s" d="%s"%s`, class, d, titled(title, "path"))
}

// text writes at a place; anchor is start, middle or end.
func (s *svg) text(class, anchor string, x, y float64, text string) {
	fmt.Fprintf(&s.b, `<text class="%s" text-anchor="%s" x="%s" y="%s">%s</text>`, class, anchor, num(x), num(y), html.EscapeString(text))
}

// titled ends an element, with the tooltip that is shown when the mouse rests on it.
func titled(title, element string) string {
	if title == "" {
		return "/>"
	}
	return "><title>" + html.EscapeString(title) + "</title></" + element + ">"
}

// axis maps the cluster's time to the width of the plots.
type axis struct {
	end time.Duration
	// ordered says that it is the order of the writes, one nanosecond each.
	ordered bool
}

func (a axis) x(at time.Duration) float64 {
	at = min(max(at, 0), a.end)
	return plotLeft + (plotWidth-plotLeft-plotRight)*float64(at)/float64(max(a.end, 1))
}

// draw draws the ticks, and lines through the plot above them.
func (a axis) draw(s *svg, top, bottom float64) {
	step := tick(a.end)
	if a.ordered {
		step = max(roundStep(a.end/8), 1)
	}
	for at := time.Duration(0); at <= a.end; at += step {
		x := a.x(at)
		s.line("grid", x, top, x, bottom)
		anchor := "middle"
		if at+step > a.end && a.end-at < step/4 {
			anchor = "end"
		}
		text := tickText(at, step)
		if a.ordered {
			text = fmt.Sprintf("write %d", at)
		}
		s.text("tick", anchor, x, bottom+15, text)
	}
}

// roundStep is the next number that is 1, 2 or 5 times a power of ten.
func roundStep(n time.Duration) time.Duration {
	for power := time.Duration(1); ; power *= 10 {
		for _, digit := range []time.Duration{1, 2, 5} {
			if digit*power >= n {
				return digit * power
			}
		}
	}
}

// tick is a round interval that fits five to eleven times.
func tick(end time.Duration) time.Duration {
	const s, m, h = time.Second, time.Minute, time.Hour
	steps := []time.Duration{
		time.Millisecond, 2 * time.Millisecond, 5 * time.Millisecond, 10 * time.Millisecond, 20 * time.Millisecond, 50 * time.Millisecond,
		100 * time.Millisecond, 200 * time.Millisecond, 500 * time.Millisecond,
		s, 2 * s, 5 * s, 10 * s, 15 * s, 30 * s, m, 2 * m, 5 * m, 10 * m, 15 * m, 30 * m, h, 2 * h, 3 * h, 6 * h, 12 * h, 24 * h, 48 * h, 7 * 24 * h,
	}
	for _, step := range steps {
		if end/step <= 10 {
			return step
		}
	}
	return end / 8
}

func tickText(at, step time.Duration) string {
	switch {
	case at == 0:
		return "0"
	case step >= 24*time.Hour:
		return fmt.Sprintf("%dd", at/(24*time.Hour))
	case step >= time.Hour:
		return fmt.Sprintf("%dh", at/time.Hour)
	case at >= time.Hour:
		return fmt.Sprintf("%d:%02d h", at/time.Hour, at/time.Minute%60)
	case step >= time.Minute:
		return fmt.Sprintf("%d min", at/time.Minute)
	case at >= time.Minute:
		return fmt.Sprintf("%d:%02d", at/time.Minute, at/time.Second%60)
	case step >= time.Second:
		return fmt.Sprintf("%d s", at/time.Second)
	case at >= time.Second || at%time.Second == 0:
		return strings.TrimSuffix(at.String(), "s") + " s"
	}
	return fmt.Sprintf("%d ms", at/time.Millisecond)
}
