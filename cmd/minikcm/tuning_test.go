package main

import (
	"testing"

	"minikcm.dev/minikcm/scenarios"
)

func TestOnVirtualTime(t *testing.T) {
	t.Parallel()
	on := func(clocks ...string) (all []*scenarios.Scenario) {
		for _, text := range clocks {
			s := &scenarios.Scenario{}
			s.Spec.Cluster.Clock = text
			all = append(all, s)
		}
		return all
	}
	for name, test := range map[string]struct {
		clock, kubeconfig string
		all               []*scenarios.Scenario
		want              bool
	}{
		"the scenarios' own clocks":    {all: on("virtual", "virtual"), want: true},
		"one on the machine's":         {all: on("virtual", "real")},
		"scaled":                       {all: on("scaled=60")},
		"virtual by flag":              {clock: "virtual", all: on("real"), want: true},
		"scaled by flag":               {clock: "scaled=2", all: on("virtual")},
		"on a cluster that is running": {kubeconfig: "a", all: on("virtual")},
	} {
		f := &scenarioFlags{}
		f.opts.Clock, f.opts.Kubeconfig = test.clock, test.kubeconfig
		if got := f.onVirtualTime(test.all); got != test.want {
			t.Errorf("%s: %t", name, got)
		}
	}
}
