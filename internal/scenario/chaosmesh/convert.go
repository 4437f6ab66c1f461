package chaosmesh

import (
	"fmt"
	"slices"
	"strconv"
	"time"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/fields"
	"k8s.io/apimachinery/pkg/labels"

	"minikcm.dev/minikcm/scenarios/fault"
)

// Fault returns the faults that a PodChaos in a namespace asks for, one for each container
// that it names. It returns an error if Chaos Mesh would refuse the spec.
func (s *PodChaosSpec) Fault(namespace string) ([]*fault.Fault, error) {
	pods, lasts, err := s.read(namespace)
	if err != nil {
		return nil, err
	}
	containers := []string{""}
	f := fault.Fault{}
	switch s.Action {
	case actionPodKill:
		pods.Action = fault.PodKill
		grace := fault.Duration(time.Duration(s.GracePeriod) * time.Second)
		pods.Grace = &grace
	case actionPodFailure:
		pods.Action, pods.Message = fault.PodNotReady, "the pod's containers were replaced by pause containers"
		f.For = lasts
	case actionContainerKill:
		if len(s.ContainerNames) == 0 {
			return nil, fmt.Errorf("spec.containerNames is missing: say which containers to kill")
		}
		code := 137
		pods.Action, pods.ExitCode, containers = fault.PodCrash, &code, s.ContainerNames
	default:
		return nil, fmt.Errorf("spec.action %q is none of %s, %s, %s", s.Action, actionPodKill, actionPodFailure, actionContainerKill)
	}
	var all []*fault.Fault
	for _, container := range containers {
		own, of := f, *pods
		of.Container = container
		own.Pods = &of
		if problems := own.Validate(); len(problems) > 0 {
			return nil, fmt.Errorf("spec.selector: %w", problems[0])
		}
		all = append(all, &own)
	}
	return all, nil
}

// read returns the pods that are chosen, and for how long; 0: without end.
func (c *Common) read(namespace string) (*fault.Pods, fault.Duration, error) {
	lasts, err := duration(c.Duration)
	switch {
	case err != nil:
		return nil, 0, fmt.Errorf("spec.duration: %w", err)
	case c.RemoteCluster != "":
		return nil, 0, fmt.Errorf("spec.remoteCluster %q: there is no other cluster", c.RemoteCluster)
	}
	pods, err := c.pods(namespace)
	return pods, fault.Duration(lasts), err
}

// pods returns the pods that are chosen.
func (s *Selection) pods(namespace string) (*fault.Pods, error) {
	pods, err := s.Selector.pods(namespace)
	if err == nil {
		pods.Share, err = share(s.Mode, s.Value)
	}
	return &pods, err
}

func duration(text string) (time.Duration, error) {
	if text == "" {
		return 0, nil
	}
	d, err := time.ParseDuration(text)
	if err != nil || d < 0 {
		return 0, fmt.Errorf("%q is not a duration such as 30s", text)
	}
	return d, nil
}

func share(mode, value string) (fault.Share, error) {
	n := 0
	if slices.Contains([]string{modeFixed, modeFixedPercent, modeRandomMaxPercent}, mode) {
		var err error
		if n, err = strconv.Atoi(value); err != nil || n <= 0 || (mode != modeFixed && n > 100) {
			return fault.Share{}, fmt.Errorf("spec.value %q is no number that mode %s can do with", value, mode)
		}
	}
	switch mode {
	case modeOne:
		return fault.Share{Count: 1}, nil
	case modeAll:
		return fault.Share{All: true}, nil
	case modeFixed:
		return fault.Share{Count: n}, nil
	case modeFixedPercent:
		return fault.Share{Percent: n}, nil
	case modeRandomMaxPercent:
		return fault.Share{MaxPercent: n}, nil
	}
	return fault.Share{}, fmt.Errorf("spec.mode %q is none of %s, %s, %s, %s, %s", mode, modeOne, modeAll, modeFixed, modeFixedPercent, modeRandomMaxPercent)
}

// pods returns the pods that a selector selects, in the object's namespace if it names none.
func (s *Selector) pods(namespace string) (fault.Pods, error) {
	pods := fault.Pods{
		Namespaces: s.Namespaces, Phases: s.PodPhaseSelectors, Nodes: s.Nodes,
		NodeSelector: labels.SelectorFromSet(s.NodeSelectors).String(),
		Annotations:  labels.SelectorFromSet(s.AnnotationSelectors).String(),
	}
	if len(pods.Namespaces) == 0 {
		pods.Namespaces = []string{namespace}
	}
	selector, err := metav1.LabelSelectorAsSelector(&metav1.LabelSelector{MatchLabels: s.LabelSelectors, MatchExpressions: s.ExpressionSelectors})
	if err != nil {
		return pods, fmt.Errorf("spec.selector.expressionSelectors: %w", err)
	}
	pods.Selector = selector.String()
	if len(s.FieldSelectors) > 0 {
		pods.FieldSelector = fields.SelectorFromSet(s.FieldSelectors).String()
	}
	if len(s.Pods) == 0 {
		return pods, nil
	}
	// Names exclude all other criteria.
	named := fault.Pods{}
	for in, names := range s.Pods {
		named.Namespaces = append(named.Namespaces, in)
		for _, name := range names {
			named.Names = append(named.Names, in+"/"+name)
		}
	}
	slices.Sort(named.Namespaces)
	slices.Sort(named.Names)
	return named, nil
}
