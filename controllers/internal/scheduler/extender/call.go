package extender

import (
	"bytes"
	"context"
	"encoding/json"
	"errors"
	"fmt"
	"io"
	"net/http"
	"strings"

	corev1 "k8s.io/api/core/v1"
	extenderv1 "k8s.io/kube-scheduler/extender/v1"

	"minikcm.dev/minikcm/controllers/internal/scheduler/framework"
	"minikcm.dev/minikcm/controllers/internal/scheduler/plugins"
	"minikcm.dev/minikcm/internal/nesting"
)

const (
	// maxAnswerBytes limits an answer: some thousand whole nodes.
	maxAnswerBytes = 64 << 20
	// maxDepth limits the nesting of an answer.
	maxDepth = 100
)

// Filter asks which of the nodes are excluded.
func (e *Extender) Filter(ctx context.Context, pod *corev1.Pod, nodes []*framework.NodeInfo) ([]Exclusion, error) {
	var answer extenderv1.ExtenderFilterResult
	if err := e.call(ctx, e.spec.FilterVerb, e.args(pod, nodes), &answer); err != nil {
		return nil, err
	}
	return excluded(e.Name(), e.spec.NodeCacheCapable, nodes, &answer)
}

// AddScores asks for scores of the nodes, and adds them to total, in the same order.
func (e *Extender) AddScores(ctx context.Context, pod *corev1.Pod, nodes []*framework.NodeInfo, total []int64) error {
	var answer extenderv1.HostPriorityList
	if err := e.call(ctx, e.spec.PrioritizeVerb, e.args(pod, nodes), &answer); err != nil {
		return err
	}
	addScores(total, nodes, answer, e.spec.Weight)
	return nil
}

// args are the arguments about nodes: only names if the extender caches nodes.
func (e *Extender) args(pod *corev1.Pod, nodes []*framework.NodeInfo) *extenderv1.ExtenderArgs {
	args := &extenderv1.ExtenderArgs{Pod: pod}
	if e.spec.NodeCacheCapable {
		names := make([]string, len(nodes))
		for i, n := range nodes {
			names[i] = n.Name()
		}
		args.NodeNames = &names
		return args
	}
	args.Nodes = &corev1.NodeList{Items: make([]corev1.Node, len(nodes))}
	for i, n := range nodes {
		args.Nodes.Items[i] = *n.Node
	}
	return args
}

// Preempt asks which of the candidates may be preempted, and which pods on them.
func (e *Extender) Preempt(ctx context.Context, pod *corev1.Pod, candidates []plugins.Preemption, snapshot *framework.Snapshot) ([]plugins.Preemption, error) {
	args := &extenderv1.ExtenderPreemptionArgs{Pod: pod}
	if e.spec.NodeCacheCapable {
		args.NodeNameToMetaVictims = metaVictims(candidates)
	} else {
		args.NodeNameToVictims = wholeVictims(candidates)
	}
	var answer extenderv1.ExtenderPreemptionResult
	if err := e.call(ctx, e.spec.PreemptVerb, args, &answer); err != nil {
		return nil, err
	}
	return preemptions(e.Name(), e.Ignorable(), &answer, snapshot)
}

// Bind lets the extender create the pod's Binding.
func (e *Extender) Bind(ctx context.Context, pod *corev1.Pod, node string) error {
	var answer extenderv1.ExtenderBindingResult
	args := &extenderv1.ExtenderBindingArgs{PodName: pod.Name, PodNamespace: pod.Namespace, PodUID: pod.UID, Node: node}
	if err := e.call(ctx, e.spec.BindVerb, args, &answer); err != nil {
		return err
	}
	if answer.Error != "" {
		return errors.New(shortened(answer.Error))
	}
	return nil
}

// call posts arguments and decodes the answer. It follows no redirect.
func (e *Extender) call(ctx context.Context, verb string, args, answer any) error {
	body, err := json.Marshal(args)
	if err != nil {
		return fmt.Errorf("encoding the arguments of %s for extender at URL %s: %w", verb, e.url, err)
	}
	url := e.url + "/" + strings.TrimLeft(verb, "/")
	request, err := http.NewRequestWithContext(ctx, http.MethodPost, url, bytes.NewReader(body))
	if err != nil {
		return err
	}
	request.Header.Set("Content-Type", "application/json")
	response, err := e.client.Do(request)
	if err != nil {
		return err
	}
	defer func() { _ = response.Body.Close() }() // it was only read
	if response.StatusCode != http.StatusOK {
		return fmt.Errorf("failed %s with extender at URL %s, code %d", verb, url, response.StatusCode)
	}
	content, err := io.ReadAll(io.LimitReader(response.Body, maxAnswerBytes+1))
	if err == nil && len(content) > maxAnswerBytes {
		err = fmt.Errorf("it has more than %d bytes", maxAnswerBytes)
	}
	if err == nil {
		err = nesting.JSON(content, maxDepth)
	}
	if err == nil {
		err = json.Unmarshal(content, answer)
	}
	if err != nil {
		return fmt.Errorf("reading the answer to %s of extender at URL %s: %w", verb, url, err)
	}
	return nil
}
