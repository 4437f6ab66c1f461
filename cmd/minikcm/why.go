package main

import (
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"slices"
	"strings"
	"time"

	"github.com/spf13/cobra"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime/schema"
	"k8s.io/client-go/discovery/cached/memory"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"
	"k8s.io/client-go/restmapper"

	"minikcm.dev/minikcm"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/scenario/runrecord"
	"minikcm.dev/minikcm/internal/spell"
	"minikcm.dev/minikcm/internal/writeexport"
)

func newWhy() *cobra.Command {
	var kubeconfig, run, namespace, output string
	cmd := &cobra.Command{
		Use:   "why KIND/NAME | KIND NAME",
		Short: "Show why an object is not ready, and what caused its creation, last change and deletion",
		Long: `Show why an object is not ready: the conditions, containers, events and finalizers of the
object and of the objects that it controls.

Then follow the write record back from each of the object's writes: to the write that
triggered the controller, to the cause of that write, and so on, until the client that
made the first one. Programs outside the cluster do not report what triggered them, so
the cause of their writes is a guess and marked as probable.

For a pod with the annotation minikcm.dev/explain-scheduling: "true", also show for each node which
plugin of the scheduler rejected it, or how it scored, and what preemption chose for it or for its PodGroup.

The object is looked up in the cluster that "minikcm up" runs or, with --run, in a run
that "minikcm scenario run" saved with --save or --json.`,
		Example: `  minikcm why pod/web-5d4f8c7b9-x2x5k
  minikcm why deploy web -n shop -o json
  minikcm why pod/web-5d4f8c7b9-x2x5k --run ./run.json
  minikcm why deploy/web -o dot | dot -Tsvg > why.svg`,
		Args:              anObject,
		ValidArgsFunction: completeObject,
		RunE: func(cmd *cobra.Command, args []string) error {
			if _, known := explanationFormats[output]; !known {
				return badInput{fmt.Errorf("--output=%s: must be json, dot or mermaid, or omitted", output)}
			}
			kind, name := objectNamed(args)
			if kind == "" {
				return badInput{fmt.Errorf("%q is not an object: write KIND/NAME, such as pod/web%s", args[0], asObjects(cmd.Context(), run, kubeconfig, namespace, args[0]))}
			}
			explanation, start, err := explain(cmd.Context(), run, kubeconfig, namespace, kind, name)
			if err != nil {
				return err
			}
			if err := explanationFormats[output](cmd.OutOrStdout(), explanation, start); err != nil || output != "" || run != "" {
				return err
			}
			return printScheduling(cmd.Context(), cmd.OutOrStdout(), kubeconfig, explanation)
		},
	}
	cmd.Flags().StringVar(&kubeconfig, "kubeconfig", "", "kubeconfig of the running cluster (default $KUBECONFIG, or the file that \"minikcm up\" wrote)")
	cmd.Flags().StringVar(&run, "run", "", "look in this saved run: its file, or the folder that contains it")
	cmd.Flags().StringVarP(&namespace, "namespace", "n", "default", "namespace of the object, if its kind is namespaced")
	cmd.Flags().StringVarP(&output, "output", "o", "", "output format: json, or dot or mermaid for a graph of the causes (default text)")
	return cmd
}

// anObject is the Args of a command about one object.
func anObject(cmd *cobra.Command, args []string) error {
	if len(args) == 1 || len(args) == 2 && !strings.Contains(args[0], "/") {
		return nil
	}
	return fmt.Errorf("%q needs an object as KIND/NAME or KIND NAME, such as pod/web, but got %d arguments; an example is\n%s", cmd.CommandPath(), len(args), strings.TrimRight(cmd.Example, "\n"))
}

// objectNamed returns the kind and the name in the arguments; empty if they name no object.
func objectNamed(args []string) (kind, name string) {
	if len(args) == 2 {
		return args[0], args[1]
	}
	kind, name, _ = strings.Cut(args[0], "/")
	if kind == "" || name == "" || strings.Contains(name, "/") {
		return "", ""
	}
	return kind, name
}

// maxMeant caps the objects that asObjects suggests.
const maxMeant = 5

// asObjects returns the end of a sentence about a name without a kind: it suggests the objects that have
// the name.
func asObjects(ctx context.Context, run, kubeconfig, namespace, name string) string {
	f := writesFlags{kubeconfig: kubeconfig, run: run, name: name}
	writes, err := f.writes(ctx)
	if err != nil {
		return "" // a hint is not worth another error
	}
	var objects []string
	for i := range writes {
		w := &writes[i]
		object := strings.ToLower(w.Kind) + "/" + w.Name
		if w.Namespace != "" && w.Namespace != namespace {
			object += " -n " + w.Namespace
		}
		if w.Kind != "" && !slices.Contains(objects, object) {
			objects = append(objects, object)
		}
	}
	if len(objects) == 0 {
		return ""
	}
	return "; did you mean " + strings.Join(objects[:min(len(objects), maxMeant)], " or ") + "?"
}

// printScheduling prints how the scheduler decided on a pod, if the pod asked for that.
func printScheduling(ctx context.Context, w io.Writer, kubeconfig string, explanation *minikcm.Explanation) error {
	o := explanation.Object
	if o.Resource.Group != "" || o.Resource.Resource != "pods" {
		return nil
	}
	_, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return err
	}
	pod, err := client.CoreV1().Pods(o.Namespace).Get(ctx, o.Name, metav1.GetOptions{})
	if apierrors.IsNotFound(err) {
		return nil // only the write record has it
	}
	if err != nil {
		return fmt.Errorf("reading the pod: %w", err)
	}
	return controllers.PrintScheduling(w, pod.Annotations)
}

// explanationFormats print an explanation, by the value of --output. start is the start time of a
// saved run, and zero for a cluster.
var explanationFormats = map[string]func(w io.Writer, explanation *minikcm.Explanation, start time.Time) error{
	"": func(w io.Writer, explanation *minikcm.Explanation, start time.Time) error {
		return explanation.Print(w, start)
	},
	"json": func(w io.Writer, explanation *minikcm.Explanation, _ time.Time) error {
		return printJSON(w, explanation)
	},
	"dot": func(w io.Writer, explanation *minikcm.Explanation, _ time.Time) error {
		return writeexport.ExplanationDOT(w, explanation)
	},
	"mermaid": func(w io.Writer, explanation *minikcm.Explanation, _ time.Time) error {
		return writeexport.ExplanationMermaid(w, explanation)
	},
}

// explain gets the explanation from a saved run or from a cluster. start is the start time of
// a saved run, and zero for a cluster.
func explain(ctx context.Context, run, kubeconfig, namespace, kind, name string) (explanation *minikcm.Explanation, start time.Time, err error) {
	if run != "" {
		saved, err := runrecord.Load(run)
		if err != nil {
			return nil, time.Time{}, badInput{err}
		}
		explanation, err = saved.Why(kind, namespace, name)
		return explanation, saved.Start, asBadInput(err) // the run has no such object
	}
	explanation, err = explainLive(ctx, kubeconfig, namespace, kind, name)
	return explanation, time.Time{}, err
}

func explainLive(ctx context.Context, kubeconfig, namespace, kind, name string) (*minikcm.Explanation, error) {
	config, client, err := clusterOf(ctx, kubeconfig)
	if err != nil {
		return nil, err
	}
	mapping, err := mappingOf(client, kind)
	if meta.IsNoMatchError(err) {
		return nil, badInput{fmt.Errorf("the cluster at %s has no kind %q%s \"minikcm kubectl api-resources\" lists the kinds", config.Host, kind, meantKind(client, kind))}
	}
	if err != nil {
		return nil, fmt.Errorf("looking up the kind %s at %s: %w", kind, config.Host, err)
	}
	request := client.Discovery().RESTClient().Get().AbsPath("/minikcm/v1/why").SetHeader("Accept", "application/json").
		Param("group", mapping.Resource.Group).Param("resource", mapping.Resource.Resource).Param("name", name)
	if mapping.Scope.Name() == meta.RESTScopeNameNamespace {
		request = request.Param("namespace", namespace)
	}
	answer := request.Do(ctx)
	if err := answer.Error(); err != nil {
		return nil, whyError(config, name, err)
	}
	data, err := answer.Raw()
	if err != nil {
		return nil, fmt.Errorf("asking the cluster at %s: %w", config.Host, err)
	}
	var explanation minikcm.Explanation
	if err := json.Unmarshal(data, &explanation); err != nil {
		return nil, fmt.Errorf("decoding the explanation from the cluster at %s: %w", config.Host, err)
	}
	return &explanation, nil
}

// meantKind returns the end of a sentence about an unknown kind. It suggests the known kind
// with the most similar name, if there is one.
func meantKind(client kubernetes.Interface, kind string) string {
	lists, err := client.Discovery().ServerPreferredResources()
	if err != nil && len(lists) == 0 {
		return "."
	}
	var names []string
	for _, list := range lists {
		for i := range list.APIResources {
			r := &list.APIResources[i]
			names = append(append(names, r.SingularName, r.Name), r.ShortNames...)
		}
	}
	if meant := spell.Nearest(kind, names); meant != "" {
		return fmt.Sprintf("; did you mean %s?", meant)
	}
	return "."
}

// whyError returns the write record's own message if the object is not found in it, and
// another error if the cluster has no write record.
func whyError(config *rest.Config, name string, err error) error {
	var status apierrors.APIStatus
	if !errors.As(err, &status) || status.Status().Reason != metav1.StatusReasonNotFound {
		return fmt.Errorf("asking the cluster at %s: %w", config.Host, err)
	}
	if details := status.Status().Details; details != nil && details.Name == name {
		return badInput{errors.New(status.Status().Message)}
	}
	return fmt.Errorf("the cluster at %s is not a minikcm cluster: it has no write record", config.Host)
}

// mappingOf resolves a kind as kubectl does: by its name, plural or short name, with or
// without its group.
func mappingOf(client kubernetes.Interface, kind string) (*meta.RESTMapping, error) {
	discovery := memory.NewMemCacheClient(client.Discovery())
	mapper := restmapper.NewShortcutExpander(restmapper.NewDeferredDiscoveryRESTMapper(discovery), discovery, func(string) {})
	full, groupResource := schema.ParseResourceArg(strings.ToLower(kind))
	var gvk schema.GroupVersionKind
	var err error
	if full != nil {
		gvk, err = mapper.KindFor(*full)
	}
	if gvk.Empty() {
		gvk, err = mapper.KindFor(groupResource.WithVersion(""))
	}
	if err != nil {
		return nil, err
	}
	return mapper.RESTMapping(gvk.GroupKind(), gvk.Version)
}
