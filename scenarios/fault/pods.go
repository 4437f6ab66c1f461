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

// Pods is a fault of pods. Those that are being deleted or have ended are never hit.
type Pods struct {
	// Action is kill (deleted without grace), crash (a container exits), oom, notReady,
	// imageGone (the image can no longer be pulled) or evict.
	Action string `yaml:"action"`
	// Namespace; default default. Selector, FieldSelector and Names say which match;
	// without them, all of the namespace do.
	Namespace     string   `yaml:"namespace"`
	Selector      string   `yaml:"selector"`
	FieldSelector string   `yaml:"fieldSelector"`
	Names         []string `yaml:"names"`
	// Namespaces are several, in place of Namespace; "*" is all. Names may then be written
	// NAMESPACE/NAME.
	Namespaces []string `yaml:"namespaces"`
	// Annotations is a selector of annotations, written as one of labels. Phases are the
	// phases, Nodes the names of the nodes, and NodeSelector a selector of the nodes'
	// labels, that pods must be in or on.
	Annotations  string   `yaml:"annotations"`
	Phases       []string `yaml:"phases"`
	Nodes        []string `yaml:"nodes"`
	NodeSelector string   `yaml:"nodeSelector"`
	Share        `yaml:",inline"`
	// Container is which of a pod's containers crashes, is killed or is not ready;
	// default all.
	Container string `yaml:"container"`
	// ExitCode is what a crash ends with; default 1.
	ExitCode *int `yaml:"exitCode"`
	// Message is why a pod is not ready, or an image cannot be pulled.
	Message string `yaml:"message"`
	// Grace is how long killed and evicted pods may take to end; default: none for
	// kill, what the pod says for evict.
	Grace *Duration `yaml:"grace"`
}

func (p *Pods) check(c *checker) {
	c.action(p.Action, []string{PodKill, PodCrash, PodOOM, PodNotReady, PodImageGone, PodEvict})
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
	c.only("container", p.Container != "", p.Action, PodCrash, PodOOM, PodNotReady)
	c.only("exitCode", p.ExitCode != nil, p.Action, PodCrash)
	c.only("message", p.Message != "", p.Action, PodNotReady, PodImageGone)
	c.only("grace", p.Grace != nil, p.Action, PodKill, PodEvict)
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

func (p *Pods) lasts() bool   { return p.Action == PodNotReady || p.Action == PodImageGone }
func (p *Pods) outside() bool { return p.Action == PodKill || p.Action == PodEvict }
func (p *Pods) needs() Needs  { return Needs{} }

func (p *Pods) inject(ctx context.Context, env *Env) (injected, error) {
	candidates, err := p.matching(ctx, env)
	if err != nil {
		return nil, err
	}
	pods, err := pick(candidates, &p.Share, env.Random, p.which(), func(pod corev1.Pod) string { return pod.Namespace + "/" + pod.Name })
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
