package main

import (
	"slices"
	"strings"

	"github.com/spf13/cobra"
	appsv1 "k8s.io/api/apps/v1"
	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"

	"minikcm.dev/minikcm/internal/capacity"
)

// completeChange completes a change of "minikcm whatif": its verb, then the names of its objects.
func completeChange(cmd *cobra.Command, args []string, toComplete string) ([]string, cobra.ShellCompDirective) {
	for i := len(args) - 1; i >= 0; i-- { // words after the last comma
		if strings.HasSuffix(args[i], ",") {
			args = args[i+1:]
			break
		}
	}
	switch {
	case len(args) == 0:
		return []string{
			described("drain", "cordon nodes and evict their pods"), described("remove", "delete nodes; their pods are lost"), described("crash", "let nodes fail"),
			described("upgrade", "replace the nodes of a pool"), described("consolidate", "find the nodes that can go"), described("add", "add nodes like another"),
			described("apply", "apply a file or folder"), described("load", "multiply the load of a Service"), described("scale", "set the replicas of workloads"),
		}, noFiles
	case args[0] == "apply":
		return nil, cobra.ShellCompDirectiveDefault
	case args[0] == "load":
		return completeLoad(cmd, args[1:])
	case args[0] == "scale":
		return completeScalable(cmd, nil, toComplete)
	case args[0] == "add":
		return completeAdd(cmd, args[1:])
	}
	return completeSelected(cmd, args[0], args[1:])
}

// completeSelected completes the nodes of a change, by their names, zones or pools. A word alone after
// "upgrade" is a pool.
func completeSelected(cmd *cobra.Command, verb string, args []string) ([]string, cobra.ShellCompDirective) {
	ctx, client, _, end := clientToComplete(cmd)
	defer end()
	if client == nil {
		return nil, noFiles
	}
	list, err := client.CoreV1().Nodes().List(ctx, metav1.ListOptions{ResourceVersion: "0"})
	if err != nil {
		return nil, noFiles
	}
	var names []string
	upgrade := verb == string(capacity.Upgrade)
	switch {
	case len(args) > 0 && args[len(args)-1] == "surge":
		return nil, noFiles
	case len(args) > 0 && args[0] == "zone":
		names = capacity.Zones(list.Items)
	case len(args) > 0 && args[0] == "pool", upgrade && len(args) == 0:
		names = capacity.Pools(list.Items)
	default:
		for i := range list.Items {
			names = append(names, list.Items[i].Name)
		}
	}
	names = slices.DeleteFunc(names, func(name string) bool { return slices.Contains(args, name) })
	switch {
	case len(args) == 0:
		names = append(names, described("zone", "the nodes of zones"), described("pool", "the nodes of pools"))
	case upgrade && args[len(args)-1] != "zone" && args[len(args)-1] != "pool":
		names = append(names, described("surge", "how many nodes are replaced at a time"))
	}
	return names, noFiles
}

// completeAdd completes N like NODE.
func completeAdd(cmd *cobra.Command, args []string) ([]string, cobra.ShellCompDirective) {
	switch len(args) {
	case 1:
		return []string{"like"}, noFiles
	case 2:
		return completeNodes(cmd, nil, "")
	}
	return nil, noFiles
}

// completeLoad completes pairs of a Service or workload and a factor.
func completeLoad(cmd *cobra.Command, args []string) ([]string, cobra.ShellCompDirective) {
	if len(args)%2 == 1 {
		return []string{described("x2", "twice the load")}, noFiles
	}
	ctx, _, chosen, end := clientToComplete(cmd)
	defer end()
	if chosen == nil {
		return nil, noFiles
	}
	var all []string
	for _, of := range []struct {
		resource schema.GroupVersionResource
		prefix   string
	}{
		{corev1.SchemeGroupVersion.WithResource("services"), ""},
		{appsv1.SchemeGroupVersion.WithResource("deployments"), "deployment/"},
		{appsv1.SchemeGroupVersion.WithResource("statefulsets"), "statefulset/"},
	} {
		names, err := listNames(ctx, chosen, of.resource, namespaceToComplete(cmd))
		if err != nil {
			continue // the others are still worth offering
		}
		for _, name := range names {
			if name = of.prefix + name; !slices.Contains(args, name) {
				all = append(all, name)
			}
		}
	}
	return all, noFiles
}
