package parts

import (
	"context"
	"crypto/tls"
	"fmt"
	"net/http"

	corev1 "k8s.io/api/core/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/apiserver"
	"minikcm.dev/minikcm/controllers"
	"minikcm.dev/minikcm/internal/auth"
	"minikcm.dev/minikcm/internal/fence"
	"minikcm.dev/minikcm/internal/inflight"
	"minikcm.dev/minikcm/internal/loop"
	"minikcm.dev/minikcm/internal/members"
	"minikcm.dev/minikcm/kubeletsim"
)

// asNode returns a context whose requests are made as the kubelet of a node.
func (p *Parts) asNode(ctx context.Context, node string) context.Context {
	if p.opts.Admins {
		return apiserver.AsNode(ctx, node, auth.GroupMasters)
	}
	return apiserver.AsNode(ctx, node)
}

// configOfPod returns the configuration of a client with the permissions of a pod's service account.
func (p *Parts) configOfPod(pod *corev1.Pod) *rest.Config {
	return apiserver.Protobuf(p.server.Config(auth.AccountName(pod.Namespace, pod.Spec.ServiceAccountName), auth.AccountGroups(pod.Namespace)...))
}

// apiserverOfPods is the API server for programs in pods.
type apiserverOfPods struct{ parts *Parts }

// RoundTrip implements http.RoundTripper.
func (a apiserverOfPods) RoundTrip(r *http.Request) (*http.Response, error) {
	return a.parts.server.Outside().RoundTrip(r)
}

// apiCertificate returns the certificate that the API server presents to programs in pods.
func (p *Parts) apiCertificate(context.Context) (*tls.Certificate, error) {
	i := p.opts.Identity
	return p.server.Certificate(apiserver.ListenOptions{Authority: i.Authority, Certificate: i.Certificate})
}

// kubeletOptions returns the options of the kubelets.
func (p *Parts) kubeletOptions() (kubeletsim.Options, error) {
	o, t := p.opts.Nodes, p.opts.Timing
	o.Config = apiserver.Protobuf(p.opts.Local.KubeletsConfig())
	if p.opts.Shares {
		o.Config.Wrap(fence.Wrap)
		o.ShardOf = members.ShardOf
	}
	if p.opts.InCloud {
		var err error
		if o.Cloud, err = p.cloudClient(); err != nil {
			return o, err
		}
	}
	o.Informers, o.Recorder, o.Heartbeats = p.env.Informers, p.env.Recorder.OwnedBy("kubelet").For(kubeletsim.Component), p.opts.Heartbeats
	o.AsNode, o.ConfigOf, o.MayRegister = p.asNode, p.configOfPod, apiserver.MayRegister
	o.APIServer, o.APICertificate = apiserverOfPods{p}, p.apiCertificate
	o.Clock, o.Ledger, o.Random, o.Logger = t.Clock, t.Ledger, t.Random.Fork(), p.opts.Logger
	return o, nil
}

// cloudClient returns the client with which machines act on the simulated cloud.
func (p *Parts) cloudClient() (kubernetes.Interface, error) {
	config, err := controllers.CloudConfig(p.env)
	if err != nil {
		return nil, err
	}
	if p.opts.Shares {
		config.Wrap(fence.Wrap)
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		return nil, fmt.Errorf("making the client of the cloud: %w", err)
	}
	return client, nil
}

// buildStages builds the parts that play Stages, and that read usages and Metrics.
func (p *Parts) buildStages() error {
	t := p.opts.Timing
	if !p.opts.Stages {
		return nil
	}
	read, err := kubeletsim.NewUsageReader(p.opts.Local.Config("system:minikcm:"+kubeletsim.UsageReader, auth.GroupMasters), kubeletsim.UsageOptions{
		Clock: t.Clock, Ledger: t.Ledger, Recorder: p.env.Recorder.OwnedBy(kubeletsim.UsageReader).For(kubeletsim.UsageReader), Logger: p.opts.Logger,
	}, p.Kubelets, p.opts.Nodes.Seed)
	if err != nil {
		return err
	}
	p.built = append(p.built, part{kubeletsim.UsageReader, p.untilBegun(read)})
	serve, err := kubeletsim.NewGatewayRunner(kubeletsim.GatewayOptions{
		Config: p.opts.Local.Config("system:minikcm:"+kubeletsim.GatewayRunner, auth.GroupMasters), Start: p.env.StartInformers,
		Options: kubeletsim.UsageOptions{
			Clock: t.Clock, Ledger: t.Ledger, Recorder: p.env.Recorder.OwnedBy(kubeletsim.GatewayRunner).For(kubeletsim.GatewayRunner), Logger: p.opts.Logger,
		},
	}, p.Kubelets)
	if err != nil {
		return err
	}
	p.built = append(p.built, part{kubeletsim.GatewayRunner, p.untilBegun(serve)})
	if p.opts.Shares {
		return nil
	}
	play, err := kubeletsim.NewStageRunner(kubeletsim.StageOptions{
		Config: p.opts.Local.Config("system:minikcm:stages", auth.GroupMasters), Nodes: p.env.Informers.Nodes().Informer(), Hosts: p.Kubelets,
		Clock: t.Clock, Ledger: t.Ledger, Random: t.Random.Keyed(kubeletsim.StageRunner),
		Recorder: p.env.Recorder.OwnedBy(kubeletsim.StageRunner).For(kubeletsim.StageRunner), Logger: p.opts.Logger, Version: "minikcm",
	})
	if err != nil {
		return err
	}
	p.built = append(p.built, part{"stages", p.untilBegun(play)})
	return nil
}

// untilBegun returns the run of a part that is in flight until it watches the objects that it reads:
// nodes and pods may not act before.
func (p *Parts) untilBegun(run func(context.Context) error) func(context.Context) error {
	starting := inflight.Begin(p.opts.Timing.Ledger, inflight.Start)
	return func(ctx context.Context) error {
		defer starting.End()
		return run(loop.WithBegun(ctx, starting.End))
	}
}
