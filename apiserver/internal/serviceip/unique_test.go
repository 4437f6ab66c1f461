package serviceip

import (
	"context"
	"fmt"
	"net/netip"
	"slices"
	"testing"

	corev1 "k8s.io/api/core/v1"
	apierrors "k8s.io/apimachinery/pkg/api/errors"
	"k8s.io/apimachinery/pkg/types"
	"pgregory.net/rapid"
)

// TestUnique lets two processes write many Services, starting and ending in any order,
// some of them failing. No two stored Services may ever share an address or port, and when no
// write is in progress exactly the addresses and ports of the stored Services must be locked.
func TestUnique(t *testing.T) {
	rapid.Check(t, func(t *rapid.T) {
		ports := PortRange{30000, 30011}
		w := newWorld(t, "10.0.0.0/28")
		processes := []*process{w.process(1, ports), w.process(2, ports)}
		type pending struct {
			svc, old *corev1.Service
			done     func(Outcome)
		}
		var begun []pending
		writing := map[types.UID]bool{}
		t.Repeat(map[string]func(*rapid.T){
			"begin": func(t *rapid.T) {
				uid := fmt.Sprint(rapid.IntRange(0, 9).Draw(t, "service"))
				if writing[types.UID(uid)] {
					t.Skip("being written")
				}
				old := w.services[types.UID(uid)]
				svc := service(uid, drawSpec(t))
				if old != nil {
					keepAddress(svc, old)
					if rapid.Bool().Draw(t, "delete") {
						svc = nil
					}
				}
				process := rapid.SampledFrom(processes).Draw(t, "process")
				done, err := process.Allocate(context.Background(), svc, old, false)
				if err != nil {
					if !apierrors.IsInvalid(err) && !apierrors.IsInternalError(err) {
						t.Fatal(err)
					}
					return
				}
				writing[types.UID(uid)] = true
				begun = append(begun, pending{svc, old, done})
			},
			"end": func(t *rapid.T) {
				if len(begun) == 0 {
					t.Skip("nothing begun")
				}
				i := rapid.IntRange(0, len(begun)-1).Draw(t, "write")
				write := begun[i]
				begun = slices.Delete(begun, i, i+1)
				outcome := rapid.SampledFrom([]Outcome{Stored, NotStored}).Draw(t, "outcome")
				uid := uidOf(write.svc, write.old)
				switch {
				case outcome == Stored && write.svc == nil:
					delete(w.services, uid)
				case outcome == Stored:
					w.services[uid] = write.svc
				}
				delete(writing, uid)
				write.done(outcome)
			},
			"repair": func(t *rapid.T) {
				if err := rapid.SampledFrom(processes).Draw(t, "process").Repair(context.Background()); err != nil {
					t.Fatal(err)
				}
			},
			"": func(t *rapid.T) { checkUnique(t, w, processes[0], len(begun) == 0) },
		})
	})
}

func uidOf(svc, old *corev1.Service) types.UID {
	if old != nil {
		return old.UID
	}
	return svc.UID
}

// keepAddress does what validation requires: the first address stays.
func keepAddress(svc, old *corev1.Service) {
	if svc.Spec.Type != corev1.ServiceTypeExternalName && old.Spec.Type != corev1.ServiceTypeExternalName {
		svc.Spec.ClusterIP, svc.Spec.ClusterIPs = old.Spec.ClusterIP, slices.Clone(old.Spec.ClusterIPs)
	}
}

func checkUnique(t *rapid.T, w *world, p *process, settled bool) {
	ips, ports := map[netip.Addr]types.UID{}, map[int32]types.UID{}
	for uid, svc := range w.services {
		k := keysOf(svc)
		for ip := range k.ips {
			if other, taken := ips[ip]; taken {
				t.Fatalf("%s and %s share %s", uid, other, ip)
			}
			ips[ip] = uid
			if lock := w.locks.byName[ip.String()]; lock == nil || !isFor(lock, svc) {
				t.Fatalf("%s has %s without a lock", uid, ip)
			}
		}
		for port := range k.ports {
			if other, taken := ports[port]; taken {
				t.Fatalf("%s and %s share %d", uid, other, port)
			}
			ports[port] = uid
		}
	}
	if !settled {
		return
	}
	if len(w.locks.byName) != len(ips) {
		t.Fatalf("%d locks for %d addresses", len(w.locks.byName), len(ips))
	}
	if taken := p.takenPorts(t); len(taken) != len(ports) {
		t.Fatalf("taken ports %v, used are %v", taken, ports)
	}
}

func drawSpec(t *rapid.T) func(*corev1.ServiceSpec) {
	return func(spec *corev1.ServiceSpec) {
		spec.Type = rapid.SampledFrom([]corev1.ServiceType{
			corev1.ServiceTypeClusterIP, corev1.ServiceTypeNodePort, corev1.ServiceTypeExternalName,
		}).Draw(t, "type")
		if spec.Type == corev1.ServiceTypeExternalName {
			return
		}
		if rapid.Bool().Draw(t, "wanted address") {
			withIP(fmt.Sprintf("10.0.0.%d", rapid.IntRange(1, 14).Draw(t, "address")))(spec)
		}
		if spec.Type == corev1.ServiceTypeNodePort && rapid.Bool().Draw(t, "wanted port") {
			spec.Ports[0].NodePort = int32(rapid.IntRange(30000, 30011).Draw(t, "port")) // a port
		}
	}
}
