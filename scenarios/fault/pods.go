package fault

import (
	"context"
	"fmt"
	"strings"

	corev1 "k8s.io/api/core/v1"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
)

// The actions of pods.
const (
	PodKill      = "kill"
	PodCrash     = "crash"
	PodOOM       = "oom"
	PodNotReady  = "notReady"
	PodImageGone = "imageGone"
	PodEvict     = "evict"
)

// podActions lists the actions on pods.
var podActions = []Action{
	{Name: PodKill, Does: "delete pods without a grace period, or with one", ByAPI: true, Fields: []string{"grace"}},
	{Name: PodCrash, Does: "let containers of pods exit with a code", Fields: []string{"container", "exitCode"}},
	{Name: PodOOM, Does: "end containers of pods as the kernel does when it is out of memory", Fields: []string{"container"}},
	{Name: PodNotReady, Does: "let the readiness probes of pods fail", Lasts: LastingAlways, Fields: []string{"container", "message"}},
	{Name: PodImageGone, Does: "let pulls of the pods' images fail", Lasts: LastingAlways, Fields: []string{"message"}},
	{Name: PodEvict, Does: "ask for evictions, which a disruption budget may refuse", ByAPI: true, Fields: []string{"grace"}},
}

// Pods is a fault of pods. It passes over pods that are being deleted or have ended.
type Pods struct {
	// Action is kill (deleted without grace), crash (a container exits), oom, notReady,
	// imageGone (the image can no longer be pulled) or evict.
	Action string `yaml:"action,omitempty"`
	// Namespace is where the pods are; default default. Without selectors and names, all
	// pods of the namespace match.
	Namespace string `yaml:"namespace,omitempty"`
	// Selector is a label selector of the pods, such as app=web.
	Selector string `yaml:"selector,omitempty"`
	// FieldSelector is a field selector of the pods, such as spec.nodeName=node-0.
	FieldSelector string `yaml:"fieldSelector,omitempty"`
	// Names are the names of the pods.
	Names []string `yaml:"names,omitempty"`
	// Namespaces are several namespaces, in place of Namespace; "*" is all. Names may then
	// be written NAMESPACE/NAME.
	Namespaces []string `yaml:"namespaces,omitempty"`
	// Annotations is a selector of the pods' annotations, written as one of labels.
	Annotations string `yaml:"annotations,omitempty"`
	// Phases are the phases of the pods, such as Running.
	Phases []string `yaml:"phases,omitempty"`
	// Nodes are the names of the nodes that the pods are on.
	Nodes []string `yaml:"nodes,omitempty"`
	// NodeSelector is a label selector of the nodes that the pods are on.
	NodeSelector string `yaml:"nodeSelector,omitempty"`
	Share        `yaml:",inline"`
	// Container is the container of each pod that crashes, is killed or is not ready;
	// default all.
	Container string `yaml:"container,omitempty"`
	// ExitCode is the code that the containers end with; default 1.
	ExitCode *int `yaml:"exitCode,omitempty"`
	// Message is the reason given for a pod that is not ready, or an image that cannot be
	// pulled.
	Message string `yaml:"message,omitempty"`
	// Grace is the grace period of killed and evicted pods; default: 0 for kill, the pod's own for
	// evict.
	Grace *Duration `yaml:"grace,omitempty"`
}

func (p *Pods) check(c *checker) {
	c.row(p, p.Action)
	if p.Namespace != "" && len(p.Namespaces) > 0 {
		c.problem("namespaces", "and namespace cannot both be given")
	}
	if p.Namespace == "" && len(p.Namespaces) == 0 {
		p.Namespace = metav1.NamespaceDefault
	}
	c.selector("annotations", p.Annotations)
	c.selector("nodeSelector", p.NodeSelector)
	c.selector("selector", p.Selector)
	c.fieldSelector("fieldSelector", p.FieldSelector)
	if len(p.Names) > 0 && p.Selector+p.FieldSelector != "" {
		c.problem("names", "and a selector cannot both be given")
	}
	if len(p.Names) > 0 && p.Share == (Share{}) {
		p.All = true
	}
	p.Share.check(c)
	if p.ExitCode != nil && (*p.ExitCode < 0 || *p.ExitCode > 255) {
		c.problem("exitCode", "is from 0 to 255: %d", *p.ExitCode)
	}
	if p.Grace != nil && *p.Grace < 0 {
		c.problem("grace", "must not be negative: %v", *p.Grace)
	}
}

func (p *Pods) which() string {
	switch {
	case len(p.Names) > 0:
		return "pods " + strings.Join(p.Names, ", ")
	case p.Selector != "":
		return "the pods " + p.Selector
	case p.FieldSelector != "":
		return "the pods with " + p.FieldSelector
	}
	return "the pods of " + strings.Join(append(p.Namespaces[:len(p.Namespaces):len(p.Namespaces)], p.Namespace), " ")
}

func (p *Pods) title() string {
	verb := map[string]string{
		PodKill: "kill", PodCrash: "crash", PodOOM: "run out of memory", PodNotReady: "make not ready", PodImageGone: "remove the image of", PodEvict: "evict",
	}[p.Action]
	if len(p.Names) > 0 {
		return verb + " " + p.which()
	}
	return fmt.Sprintf("%s %s of %s", verb, &p.Share, p.which())
}

func (p *Pods) action() (Action, bool) { return find(podActions, p.Action) }
func (p *Pods) needs() Needs           { return Needs{} }

func podKey(pod corev1.Pod) string { return pod.Namespace + "/" + pod.Name }

func (p *Pods) inject(ctx context.Context, env *Env) (injected, error) {
	candidates, err := p.matching(ctx, env)
	if err != nil {
		return nil, err
	}
	pods, err := pick(candidates, &p.Share, env.Random, p.which(), podKey)
	if err != nil {
		return nil, err
	}
	if p.Action == PodImageGone {
		return p.removeImages(env, pods)
	}
	var undo []injected
	for i := range pods {
		env.hit(&pods[i], p.Container)
		u, err := p.hit(ctx, env, &pods[i])
		if u != nil {
			undo = append(undo, u)
		}
		if err != nil {
			return all(undo), err
		}
	}
	return all(undo), nil
}
