package main

import (
	"fmt"
	"strings"
)

// elsewhere has the words that people try as commands of minikcm, and what does that.
var elsewhere = map[string]string{
	"start": "up", "run": "up", "serve": "up", "create-cluster": "up", "init": "up",
	"stop": "down", "kill": "down", "halt": "down", "shutdown": "down", "quit": "down", "destroy": "down",
	"restart": "reset", "ps": "list", "ls": "list", "clusters": "list", "open": "ui", "dashboard": "ui",
	"pause": "clock pause", "resume": "clock resume", "advance": "clock advance", "step": "clock step", "speed": "clock speed", "time": "clock",
	"crash": "fault", "chaos": "fault", "break": "fault", "snapshot": "etcd-snapshot", "save": "etcd-snapshot save",
	"test": "exec", "shell": "exec", "tour": "demo", "tours": "demo", "scenarios": "scenario list", "faults": "fault list", "nodes": "kubectl get nodes",
}

// kubectlVerbs are commands of kubectl that minikcm itself has not.
var kubectlVerbs = strings.Fields(`annotate api-resources api-versions apply attach auth autoscale certificate cluster-info config cordon cp create debug delete describe
	diff drain edit events explain expose get kustomize label logs patch port-forward replace rollout scale set taint top uncordon wait`)

// hintElsewhere returns a sentence about an unknown command of minikcm that another command does, or "".
func hintElsewhere(written string) string {
	if command := elsewhere[written]; command != "" {
		return fmt.Sprintf("; did you mean \"minikcm %s\"?", command)
	}
	for _, verb := range kubectlVerbs {
		if verb == written {
			return fmt.Sprintf(": it is one of kubectl's, so use \"minikcm kubectl %s\"", written)
		}
	}
	return ""
}
