//go:build unix

package bench

import (
	"context"
	"flag"
	"fmt"
	"os"
	"strconv"
	"strings"
	"testing"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"

	"minikcm.dev/minikcm/clock"
)

var chartFile = flag.String("chart", "", "SVG file for the chart of BenchmarkUpstream")

// The systems that BenchmarkUpstream compares.
const (
	ours   = "minikcm"
	theirs = "upstream"
)

// systems starts them, in the order of their turns.
var systems = []struct {
	name  string
	start func(ctx context.Context, b *testing.B, nodes int) *system
}{{theirs, startUpstream}, {ours, startMinikcm}}

// compared are the rollouts whose time and memory the chart shows.
var compared = []rollout{{1, 100, 10}, {1, 1000, 10}, {1, 2000, 10}, {1, 10_000, 200}, {10, 10_000, 1000}}

// comparisonTime bounds one load on one system.
const comparisonTime = 40 * time.Minute

// BenchmarkUpstream runs the same loads in turn on upstream's control plane with kwok, and on minikcm.
func BenchmarkUpstream(b *testing.B) {
	if *upstreamDir == "" {
		b.Skip("not measured without -args -upstream FOLDER; make bench-upstream builds the folder")
	}
	b.Run("api", func(b *testing.B) { inTurn(b, 0, compareAPI) })
	for _, r := range compared {
		b.Run(fmt.Sprintf("pods=%d", r.pods()), func(b *testing.B) {
			if r.pods() > 10_000 && !*large {
				b.Skip("not measured without -args -large")
			}
			inTurn(b, r.nodes, r.compare)
		})
	}
}

// inTurn applies a load to a new system of each kind.
func inTurn(b *testing.B, nodes int, load func(ctx context.Context, b *testing.B, s *system, name func(string) string)) {
	for b.Loop() {
		for _, of := range systems {
			ctx, cancel := context.WithTimeout(b.Context(), comparisonTime)
			s := of.start(ctx, b, nodes)
			load(ctx, b, s, func(figure string) string { return figure + ", " + of.name })
			cancel()
		}
	}
}

func (r rollout) pods() int { return r.deployments * r.replicas }

// The figures of a rollout.
const (
	secondsFigure   = "s until available"
	processorFigure = "s of processor time"
	residentFigure  = "MB of resident memory"
)

func (r rollout) figure(what string) string {
	return fmt.Sprintf("%d pods on %d nodes, %s", r.pods(), r.nodes, what)
}

// compare measures the time until all pods are available, and what the system took in all.
func (r rollout) compare(ctx context.Context, b *testing.B, s *system, name func(string) string) {
	elapsed := clock.Stopwatch()
	r.roll(ctx, b, s.client)
	measured.add(name(r.figure(secondsFigure)), "s", elapsed().Seconds())
	u := s.stop(b)
	measured.add(name(r.figure(processorFigure)), "s", u.processor.Seconds())
	measured.add(name(r.figure(residentFigure)), "MB", u.resident)
}

// compareAPI measures requests of clients that use JSON over HTTPS.
func compareAPI(ctx context.Context, b *testing.B, s *system, name func(string) string) {
	const callers = 32
	maps := s.client.CoreV1().ConfigMaps(metav1.NamespaceDefault)
	measured.add(name(fmt.Sprintf("creates of 1 kB, %d clients", callers)), "/s", rate(b, callers, apiCalls, func(i int) error {
		_, err := maps.Create(ctx, kilobyte(i), metav1.CreateOptions{})
		return err
	}))
	measured.add(name(fmt.Sprintf("updates of 1 kB, %d clients", callers)), "/s", rate(b, callers, apiCalls, func(i int) error {
		cm := kilobyte(i)
		cm.Labels = map[string]string{"pick": strconv.Itoa(i % 100), "big": strconv.FormatBool(i <= bigList)}
		_, err := maps.Update(ctx, cm, metav1.UpdateOptions{})
		return err
	}))
	compareLists(ctx, b, s, name)
	for _, writeRate := range []int{100, 1000} {
		f := fanOut{client: s.client, watchers: 200, writes: 1000, rate: writeRate}
		f.measure(ctx, b, name(fmt.Sprintf("200 watchers, %d writes/s", writeRate))+": ")
	}
	s.stop(b)
}

func compareLists(ctx context.Context, b *testing.B, s *system, name func(string) string) {
	const protobuf = "application/vnd.kubernetes.protobuf"
	for _, encoding := range []string{"identity", "gzip"} {
		for _, of := range []struct{ media, accept string }{{"JSON", "application/json"}, {"protobuf", protobuf}} {
			timeLists(ctx, b, s.config, name(fmt.Sprintf("list of %d as %s, %s", bigList, of.media, encoding)), "?labelSelector=big%3Dtrue", of.accept, encoding, 1)
		}
	}
	timeLists(ctx, b, s.config, name(fmt.Sprintf("1 %% of %d by label", apiCalls)), "?labelSelector=pick%3D7", protobuf, "gzip", 8)
}

// printComparison prints a Markdown table of the figures that were measured on both systems, and draws the chart.
func (s *samples) printComparison() error {
	if *upstreamDir == "" {
		return nil
	}
	fmt.Printf("\n| load | %s | %s | ratio |\n| --- | --- | --- | --- |\n", theirs, ours)
	for _, name := range s.names {
		figure, ok := strings.CutSuffix(name, ", "+theirs)
		detail := ""
		if !ok {
			if figure, detail, ok = strings.Cut(name, ", "+theirs); !ok {
				continue
			}
		}
		upstream, minikcm := s.values[name], s.values[figure+", "+ours+detail]
		if len(minikcm) == 0 {
			continue
		}
		u, m := median(upstream), median(minikcm)
		fmt.Printf("| %s%s | %s | %s | %.2f |\n", figure, detail, short(u, s.unit[name]), short(m, s.unit[name]), m/u)
	}
	if *chartFile == "" {
		return nil
	}
	return os.WriteFile(*chartFile, []byte(s.chart()), 0o644)
}

// short formats a figure with two or three significant digits.
func short(value float64, unit string) string {
	switch {
	case value >= 100:
		return fmt.Sprintf("%.0f %s", value, unit)
	case value >= 10:
		return fmt.Sprintf("%.1f %s", value, unit)
	default:
		return fmt.Sprintf("%.2f %s", value, unit)
	}
}
