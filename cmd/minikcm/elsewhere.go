package main

import (
	"fmt"
	"slices"
	"strings"

	"github.com/spf13/cobra"
)

// writtenKey is the key of the arguments of minikcm in the context of its commands.
type writtenKey struct{}

// written returns the arguments of minikcm, flags included.
func written(cmd *cobra.Command) []string {
	args, _ := cmd.Context().Value(writtenKey{}).([]string)
	return args
}

// elsewhere maps words that people try as commands of minikcm to the commands that have that effect.
var elsewhere = map[string]string{
	"start": "up", "run": "up", "serve": "up", "create-cluster": "up", "init": "up",
	"stop": "down", "kill": "down", "halt": "down", "shutdown": "down", "quit": "down", "destroy": "down",
	"restart": "reset", "ps": "list", "ls": "list", "clusters": "list", "dashboard": "ui",
	"pause": "clock pause", "resume": "clock resume", "advance": "clock advance", "step": "clock step", "speed": "clock speed", "time": "clock",
	"crash": "fault", "chaos": "fault", "break": "fault", "snapshot": "etcd-snapshot", "save": "etcd-snapshot save",
	"test": "exec", "shell": "exec", "tour": "demo", "tours": "demo", "scenarios": "scenario list", "faults": "fault list", "nodes": "kubectl get nodes",
}

// kubectlVerbs are commands of kubectl that minikcm itself has not.
var kubectlVerbs = strings.Fields(`annotate api-resources api-versions apply attach auth autoscale certificate cluster-info config cordon cp create debug delete describe
	diff drain edit events explain expose get kustomize label logs patch port-forward replace rollout scale set taint top uncordon wait`)

// hintElsewhere returns a sentence about an unknown command of minikcm that another command does, or "".
// args are all arguments.
func hintElsewhere(command string, args []string) string {
	if other := elsewhere[command]; other != "" {
		if other == "down" {
			other = strings.Join(append([]string{other}, namesIn(args[slices.Index(args, command)+1:])...), " ")
		}
		return fmt.Sprintf("; did you mean \"minikcm %s\"?", other)
	}
	if slices.Contains(kubectlVerbs, command) {
		return fmt.Sprintf(": it is one of kubectl's, so use \"minikcm kubectl %s\"", command)
	}
	return ""
}

// namesIn returns the names of clusters in the arguments of a command like "stop", whether they are
// arguments or values of --name.
func namesIn(args []string) []string {
	var names []string
	for _, arg := range args {
		if name, is := strings.CutPrefix(arg, "--name="); is {
			arg = name
		}
		if arg == "--all" || arg != "" && !strings.HasPrefix(arg, "-") {
			names = append(names, arg)
		}
	}
	return names
}

// nameIn returns the value of --name in arguments; empty: there is none.
func nameIn(args []string) string {
	for i, arg := range args {
		if name, is := strings.CutPrefix(arg, "--name="); is {
			return name
		}
		if arg == "--name" && i+1 < len(args) {
			return args[i+1]
		}
	}
	return ""
}

// unknownCommand returns the words that were written in place of a command of minikcm before the flag that
// it does not have: those before the flag or, with the flag first, a command of kubectl after it.
func unknownCommand(root *cobra.Command) []string {
	if words := root.Flags().Args(); len(words) > 0 {
		return words
	}
	for _, arg := range written(root) {
		if slices.Contains(kubectlVerbs, arg) {
			return []string{arg}
		}
	}
	return nil
}

// kubectlNamesakes are commands of minikcm whose namesakes in kubectl do something else.
var kubectlNamesakes = []string{"exec", "version"}

// hintContainer returns a hint for "minikcm exec" if its arguments look as if "kubectl exec" was meant; otherwise "".
func hintContainer(cmd *cobra.Command, args []string) string {
	if !slices.Contains(args, "--") {
		return ""
	}
	return fmt.Sprintf("; to run a command in a container, use \"%s kubectl exec\"", cmd.Root().Name())
}
