package main

import (
	"bytes"
	"context"
	"os"
	"slices"
	"strconv"
	"strings"
	"time"

	"github.com/spf13/cobra"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/cli-runtime/pkg/genericclioptions"
	"k8s.io/cli-runtime/pkg/genericiooptions"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/metadata"
	kubectl "k8s.io/kubectl/pkg/cmd"

	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/examples"
	"minikcm.dev/minikcm/internal/releases"
	"minikcm.dev/minikcm/internal/scenario/faultapi"
	"minikcm.dev/minikcm/scenarios"
	"minikcm.dev/minikcm/scenarios/fault"
)

// completeTimeout bounds the requests of a completion.
const completeTimeout = 2 * time.Second

// noFiles means that the completions are all that there are.
const noFiles = cobra.ShellCompDirectiveNoFileComp

type completer = func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective)

// described returns a completion with its description.
func described(name, text string) string {
	text, _, _ = strings.Cut(text, "\n")
	return name + "\t" + text
}

// completeClusters completes the names of running clusters.
func completeClusters(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	running, _ := runningClusters() // none is known without a registry
	var names []string
	for i := range running {
		if !slices.Contains(args, running[i].Name) {
			names = append(names, described(running[i].Name, running[i].Server))
		}
	}
	return names, noFiles
}

// completeKubeconfig completes the names of running clusters and, if none fits, files.
func completeKubeconfig(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	names, _ := completeClusters(cmd, nil, toComplete)
	return names, cobra.ShellCompDirectiveDefault
}

// completeScenarios completes the names of built-in scenarios, and files.
func completeScenarios(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	all, err := scenarios.Library()
	if err != nil {
		return nil, cobra.ShellCompDirectiveDefault
	}
	var names []string
	for _, s := range all {
		names = append(names, described(s.Metadata.Name, s.Spec.Description))
	}
	return names, cobra.ShellCompDirectiveDefault
}

// completeTours completes the names of tours.
func completeTours(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	all, err := scenarios.Tours()
	if err != nil || len(args) > 0 {
		return nil, noFiles
	}
	var names []string
	for _, tour := range all {
		names = append(names, described(tour.Metadata.Name, tour.Spec.Description))
	}
	return names, noFiles
}

// completeExamples completes the names of example programs.
func completeExamples(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	var names []string
	for _, program := range examples.Programs() {
		names = append(names, described(program.Name, program.Shows))
	}
	return names, noFiles
}

// clientToComplete returns a client for the cluster that the flags of a command select; nil if there
// is none.
func clientToComplete(cmd *cobra.Command) (ctx context.Context, client *kubernetes.Clientset, chosen *choice, end func()) {
	ctx, end = context.WithTimeout(cmd.Context(), completeTimeout)
	path := ""
	if flag := cmd.Flags().Lookup("kubeconfig"); flag != nil {
		path = flag.Value.String()
	}
	chosen, err := choose(ctx, path)
	if err != nil {
		return ctx, nil, nil, end
	}
	if client, err = kubernetes.NewForConfig(chosen.config); err != nil {
		return ctx, nil, nil, end
	}
	return ctx, client, chosen, end
}

// completeNodes completes the names of nodes that are not among the arguments.
func completeNodes(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeNames(cmd, "nodes", "", args)
}

// completePods completes the names of pods in the namespace of the flag.
func completePods(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeNames(cmd, "pods", namespaceToComplete(cmd), args)
}

// completeNamespaces completes the names of namespaces.
func completeNamespaces(cmd *cobra.Command, _ []string, _ string) ([]string, cobra.ShellCompDirective) {
	return completeNames(cmd, "namespaces", "", nil)
}

// completeNames completes the names of objects of a core resource that are not among the arguments.
func completeNames(cmd *cobra.Command, resource, namespace string, args []string) ([]string, cobra.ShellCompDirective) {
	ctx, _, chosen, end := clientToComplete(cmd)
	defer end()
	if chosen == nil {
		return nil, noFiles
	}
	names, err := listNames(ctx, chosen, corev1.SchemeGroupVersion.WithResource(resource), namespace)
	if err != nil {
		return nil, noFiles
	}
	return slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) }), noFiles
}

// listNames returns the names of the objects of a resource, as the watch cache has them.
func listNames(ctx context.Context, of *choice, resource schema.GroupVersionResource, namespace string) ([]string, error) {
	client, err := metadata.NewForConfig(of.config)
	if err != nil {
		return nil, err
	}
	list, err := client.Resource(resource).Namespace(namespace).List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, err
	}
	names := make([]string, len(list.Items))
	for i := range list.Items {
		names[i] = list.Items[i].Name
	}
	return names, nil
}

func namespaceToComplete(cmd *cobra.Command) string {
	if flag := cmd.Flags().Lookup("namespace"); flag != nil && flag.Value.String() != "" {
		return flag.Value.String()
	}
	return metav1.NamespaceDefault
}

// completeObject completes KIND/NAME: first a kind of the cluster, then a name.
func completeObject(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return completeKindName(cmd, args, toComplete, func(*metav1.APIResource, []metav1.APIResource) bool { return true })
}

// completeScalable is completeObject for the kinds that have replicas.
func completeScalable(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	return completeKindName(cmd, args, toComplete, func(kind *metav1.APIResource, all []metav1.APIResource) bool {
		return slices.ContainsFunc(all, func(r metav1.APIResource) bool { return r.Name == kind.Name+"/scale" })
	})
}

// completeKindName completes KIND/NAME. offers gets a kind, and all resources of its group and version.
func completeKindName(cmd *cobra.Command, args []string, toComplete string, offers func(kind *metav1.APIResource, all []metav1.APIResource) bool) ([]string, cobra.ShellCompDirective) {
	ctx, client, chosen, end := clientToComplete(cmd)
	defer end()
	if client == nil || len(args) > 0 {
		return nil, noFiles
	}
	kind, _, named := strings.Cut(toComplete, "/")
	if !named {
		_, lists, _ := client.Discovery().ServerGroupsAndResources() // what could be read
		var kinds []string
		for _, list := range lists {
			for i := range list.APIResources {
				if r := &list.APIResources[i]; slices.Contains(r.Verbs, "list") && !strings.Contains(r.Name, "/") && offers(r, list.APIResources) {
					kinds = append(kinds, r.SingularName+"/")
				}
			}
		}
		slices.Sort(kinds)
		return slices.Compact(kinds), noFiles | cobra.ShellCompDirectiveNoSpace
	}
	mapping, err := mappingOf(client, kind)
	if err != nil {
		return nil, noFiles
	}
	namespace := ""
	if mapping.Scope.Name() == "namespace" {
		namespace = namespaceToComplete(cmd)
	}
	names, err := listNames(ctx, chosen, mapping.Resource, namespace)
	if err != nil {
		return nil, noFiles
	}
	for i := range names {
		names[i] = kind + "/" + names[i]
	}
	return names, noFiles
}

// completeFault completes the actions of a part, then the names of their targets.
func completeFault(part fault.Part) completer {
	return func(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
		if len(args) == 0 {
			var names []string
			for _, a := range part.Actions {
				names = append(names, described(a.Name, a.Does))
			}
			return names, noFiles
		}
		switch part.Name {
		case "nodes":
			return completeNodes(cmd, args[1:], toComplete)
		case "pods":
			return completePods(cmd, args[1:], toComplete)
		case "controllers":
			return controllers.Names(), noFiles
		}
		return nil, noFiles
	}
}

// completeFaultIDs completes the IDs of the faults that are not over.
func completeFaultIDs(cmd *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	ctx, client, chosen, end := clientToComplete(cmd)
	defer end()
	if client == nil {
		return nil, noFiles
	}
	faults, err := faultapi.NewClient(chosen.config)
	if err != nil {
		return nil, noFiles
	}
	list, err := faults.List(ctx)
	if err != nil {
		return nil, noFiles
	}
	var ids []string
	for i := range list.Items {
		if one := &list.Items[i]; !one.State.Done() && !slices.Contains(args, one.ID) {
			ids = append(ids, described(one.ID, one.Title))
		}
	}
	return ids, noFiles
}

// completeKubectl completes as kubectl does, with the cluster that the built-in kubectl uses.
func completeKubectl(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	var out, errOut bytes.Buffer
	if _, err := chooseKubeconfig(cmd.Context(), &errOut, args); err != nil {
		return nil, noFiles
	}
	words := append(append([]string{cobra.ShellCompRequestCmd}, args...), toComplete)
	root := kubectl.NewDefaultKubectlCommandWithArgs(kubectl.KubectlOptions{
		Arguments: append([]string{"kubectl"}, words...), ConfigFlags: genericclioptions.NewConfigFlags(true),
		IOStreams: genericiooptions.IOStreams{In: os.Stdin, Out: &out, ErrOut: &errOut},
	})
	root.SetArgs(words)
	root.SetOut(&out)
	root.SetErr(&errOut)
	if root.Execute() != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	lines := strings.Split(strings.TrimSuffix(out.String(), "\n"), "\n")
	last := len(lines) - 1
	directive, err := strconv.Atoi(strings.TrimPrefix(lines[last], ":"))
	if err != nil {
		return nil, cobra.ShellCompDirectiveError
	}
	return lines[:last], cobra.ShellCompDirective(directive)
}

// completeFlags adds completions to the flags of a command and of its subcommands.
func completeFlags(cmd *cobra.Command) {
	for name, complete := range map[string]completer{
		"kubeconfig": completeKubeconfig, "namespace": completeNamespaces, "clock": completeClock,
		"emulated-version": completeReleases, "controllers": completeControllers,
	} {
		// A command whose kubeconfig is written, not read, completes files. An error means that the flag
		// belongs to a parent, or has a completion already.
		if cmd.Flags().Lookup(name) != nil && !(name == "kubeconfig" && cmd.Name() == "up") {
			_ = cmd.RegisterFlagCompletionFunc(name, complete)
		}
	}
	if cmd.ValidArgsFunction == nil && takesNone(cmd) {
		cmd.ValidArgsFunction = cobra.NoFileCompletions
	}
	for _, sub := range cmd.Commands() {
		completeFlags(sub)
	}
}

// takesNone reports whether a command takes no arguments.
func takesNone(cmd *cobra.Command) bool {
	return cmd.Args != nil && !cmd.HasSubCommands() && cmd.Args(cmd, []string{"x"}) != nil
}

// completeReleases completes the releases of Kubernetes that can be emulated, the newest first.
func completeReleases(_ *cobra.Command, args []string, _ string) ([]string, cobra.ShellCompDirective) {
	if len(args) > 0 {
		return nil, noFiles
	}
	var names []string
	for _, minor := range slices.Backward(releases.All()) {
		names = append(names, minor.String())
	}
	return names, noFiles | cobra.ShellCompDirectiveKeepOrder
}

// completeControllers completes the last item of a list of controllers.
func completeControllers(_ *cobra.Command, _ []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	before, minus := toComplete[:strings.LastIndex(toComplete, ",")+1], ""
	if strings.HasPrefix(toComplete[len(before):], "-") {
		minus = "-"
	}
	var names []string
	for _, name := range append([]string{"*"}, controllers.Names()...) {
		names = append(names, before+minus+name)
	}
	return names, noFiles | cobra.ShellCompDirectiveNoSpace
}

func completeClock(*cobra.Command, []string, string) ([]string, cobra.ShellCompDirective) {
	return []string{described("real", "the machine's time"), described("virtual", "time that can be paused and moved"), described("virtual=60", "the same, 60 times as fast")}, noFiles
}
