//go:build unix

package bench

import (
	"fmt"
	"math"
	"strings"
)

// panel is one plot of a chart: a figure of the rollouts by their number of pods, both on logarithmic axes.
type panel struct {
	title      string
	what       string // the rollout's figure
	low, high  int    // powers of ten of the vertical axis
	left, unit float64
}

// The sizes of a chart, in pixels.
const (
	panelWidth, panelHeight = 300.0, 240.0
	chartTop, chartLeft     = 50.0, 60.0
	panelGap                = 90.0
	decades                 = 3 // of the horizontal axis
	firstDecade             = 2 // it begins with a hundred pods
)

// colors of the lines have enough contrast on white and on black.
var colors = map[string]string{ours: "#2f81f7", theirs: "#d4622a"}

// chart draws seconds and memory of the rollouts as SVG.
func (s *samples) chart() string {
	var out strings.Builder
	width, height := 2*panelWidth+panelGap+chartLeft+30, panelHeight+chartTop+60
	fmt.Fprintf(&out, `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 %.0f %.0f" font-family="sans-serif" font-size="12" fill="#808080">`+"\n", width, height)
	fmt.Fprintf(&out, "<title>Pods until available: seconds and memory of %s and %s</title>\n", theirs, ours)
	for _, p := range []panel{
		{title: "seconds until available", what: secondsFigure, low: -1, high: 4, left: chartLeft, unit: 1},
		{title: "resident memory, GB", what: residentFigure, low: -2, high: 2, left: chartLeft + panelWidth + panelGap, unit: 1000},
	} {
		p.axes(&out)
		for _, of := range systems {
			p.line(&out, s, of.name)
		}
	}
	x := chartLeft
	for _, of := range systems {
		fmt.Fprintf(&out, `<circle cx="%.0f" cy="%.0f" r="4" fill="%s"/><text x="%.0f" y="%.0f">%s</text>`+"\n", x, height-14, colors[of.name], x+10, height-10, of.name)
		x += 100
	}
	out.WriteString("</svg>\n")
	return out.String()
}

func (p panel) x(pods float64) float64 {
	return p.left + panelWidth*(math.Log10(pods)-firstDecade)/decades
}

func (p panel) y(value float64) float64 {
	return chartTop + panelHeight*(1-(math.Log10(value)-float64(p.low))/float64(p.high-p.low))
}

func (p panel) axes(out *strings.Builder) {
	fmt.Fprintf(out, `<text x="%.0f" y="%.0f" font-size="14">%s</text>`+"\n", p.left, chartTop-20, p.title)
	for power := p.low; power <= p.high; power++ {
		y := p.y(math.Pow10(power))
		fmt.Fprintf(out, `<path d="M%.1f %.1fh%.0f" stroke="#808080" stroke-opacity="0.3"/><text x="%.1f" y="%.1f" text-anchor="end">%g</text>`+"\n",
			p.left, y, panelWidth, p.left-6, y+4, math.Pow10(power))
	}
	for power := firstDecade; power <= firstDecade+decades; power++ {
		x := p.x(math.Pow10(power))
		fmt.Fprintf(out, `<path d="M%.1f %.1fv%.0f" stroke="#808080" stroke-opacity="0.3"/><text x="%.1f" y="%.1f" text-anchor="middle">%.0f</text>`+"\n",
			x, chartTop, panelHeight, x, chartTop+panelHeight+18, math.Pow10(power))
	}
	fmt.Fprintf(out, `<text x="%.1f" y="%.1f" text-anchor="middle">pods</text>`+"\n", p.left+panelWidth/2, chartTop+panelHeight+34)
}

// line draws the medians of a system that were measured.
func (p panel) line(out *strings.Builder, s *samples, name string) {
	var path strings.Builder
	command := "M"
	for _, r := range compared {
		values := s.values[r.figure(p.what)+", "+name]
		if len(values) == 0 {
			continue
		}
		x, y := p.x(float64(r.pods())), p.y(median(values)/p.unit)
		fmt.Fprintf(&path, "%s%.1f %.1f", command, x, y)
		fmt.Fprintf(out, `<circle cx="%.1f" cy="%.1f" r="3" fill="%s"/>`+"\n", x, y, colors[name])
		command = "L"
	}
	fmt.Fprintf(out, `<path d="%s" fill="none" stroke="%s" stroke-width="2"/>`+"\n", path.String(), colors[name])
}
