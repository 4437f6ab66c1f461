//go:build unix

package bench

import (
	"context"
	"fmt"
	"strings"
	"testing"

	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"

	"minikcm.dev/minikcm/clock"
)

// BenchmarkProcesses measures what further processes add on an etcd cluster of three members that
// sync their logs, beside one process with its own etcd.
func BenchmarkProcesses(b *testing.B) {
	if *upstreamDir == "" {
		b.Skip("not measured without -args -upstream FOLDER; make bench-upstream builds the folder")
	}
	for b.Loop() {
		measureProcesses(b, 1, "embedded etcd", nil)
		for _, processes := range []int{1, 2, 3} {
			etcd := newPrograms(b)
			urls := etcd.startEtcd(3)
			measureProcesses(b, processes, fmt.Sprintf("three members, %d processes", processes), etcd, "--etcd-servers", strings.Join(urls, ","))
		}
	}
}

// measureProcesses measures a rollout through the first process, and creates of clients that are spread over all.
func measureProcesses(b *testing.B, processes int, name string, etcd *programs, args ...string) {
	b.Helper()
	ctx, cancel := context.WithTimeout(b.Context(), comparisonTime)
	defer cancel()
	const callers = 32
	r := rollout{deployments: 1, replicas: 2000, nodes: 10}
	var ups []*up
	var clients []kubernetes.Interface
	for range processes {
		u := startUp(b, append([]string{"--nodes", fmt.Sprint(r.nodes)}, args...)...)
		ups, clients = append(ups, u), append(clients, u.connect(b))
	}
	elapsed := clock.Stopwatch()
	r.roll(ctx, b, clients[0])
	measured.add(r.figure(secondsFigure)+", "+name, "s", elapsed().Seconds())
	measured.add(fmt.Sprintf("creates of 1 kB, %d clients, %s", callers, name), "/s", rate(b, callers, apiCalls, func(i int) error {
		_, err := clients[i%processes].CoreV1().ConfigMaps(metav1.NamespaceDefault).Create(ctx, kilobyte(i), metav1.CreateOptions{})
		return err
	}))
	var used usage
	for _, u := range ups {
		u.stop(b)
		used.add(u.cmd)
	}
	if etcd != nil {
		etcd.kill()
		for _, cmd := range etcd.cmds {
			used.add(cmd)
		}
	}
	measured.add("both, processor time, "+name, "s", used.processor.Seconds())
	measured.add("both, resident memory, "+name, "MB", used.resident)
}

// connect returns a client without a limit of requests.
func (u *up) connect(b *testing.B) kubernetes.Interface {
	b.Helper()
	config, err := clientcmd.BuildConfigFromFlags("", u.kubeconfig)
	if err != nil {
		b.Fatal(err)
	}
	return newSystem(b, config).client
}
