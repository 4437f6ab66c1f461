package scheduler

import (
	"context"
	"fmt"

	"k8s.io/apimachinery/pkg/api/meta"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/apimachinery/pkg/runtime"
	"k8s.io/client-go/kubernetes"
	toolscache "k8s.io/client-go/tools/cache"

	"minikcm.dev/minikcm/clock/informers"
)

// showAll gives the objects of the API server to the caches of a scheduler that does not run. Nodes come before pods,
// and DeviceClasses before the objects that refer to them.
func (s *Scheduler) showAll(ctx context.Context, client kubernetes.Interface, kinds informers.Kinds) error {
	core, apps, storage, devices := client.CoreV1(), client.AppsV1(), client.StorageV1(), client.ResourceV1()
	for _, kind := range []struct {
		list     func() (runtime.Object, error)
		informer toolscache.SharedIndexInformer
		handler  toolscache.ResourceEventHandler
	}{
		{listOf(ctx, core.Namespaces().List), kinds.Namespaces().Informer(), nil},
		{listOf(ctx, core.Nodes().List), kinds.Nodes().Informer(), s.nodeHandler()},
		{listOf(ctx, devices.DeviceClasses().List), kinds.DeviceClasses().Informer(), s.devices.backing},
		{listOf(ctx, devices.ResourceSlices().List), kinds.ResourceSlices().Informer(), s.sliceHandler()},
		{listOf(ctx, devices.DeviceTaintRules().List), kinds.DeviceTaintRules().Informer(), s.taintRuleHandler()},
		{listOf(ctx, devices.ResourceClaims("").List), kinds.ResourceClaims().Informer(), s.resourceClaimHandler()},
		{listOf(ctx, storage.StorageClasses().List), kinds.StorageClasses().Informer(), nil},
		{listOf(ctx, storage.CSINodes().List), kinds.CSINodes().Informer(), nil},
		{listOf(ctx, storage.CSIDrivers().List), kinds.CSIDrivers().Informer(), nil},
		{listOf(ctx, storage.CSIStorageCapacities("").List), kinds.CSIStorageCapacities().Informer(), nil},
		{listOf(ctx, storage.VolumeAttachments().List), kinds.VolumeAttachments().Informer(), nil},
		{listOf(ctx, core.PersistentVolumes().List), kinds.PersistentVolumes().Informer(), nil},
		{listOf(ctx, core.PersistentVolumeClaims("").List), kinds.PersistentVolumeClaims().Informer(), nil},
		{listOf(ctx, core.Services("").List), kinds.Services().Informer(), nil},
		{listOf(ctx, core.ReplicationControllers("").List), kinds.ReplicationControllers().Informer(), nil},
		{listOf(ctx, apps.ReplicaSets("").List), kinds.ReplicaSets().Informer(), nil},
		{listOf(ctx, apps.StatefulSets("").List), kinds.StatefulSets().Informer(), nil},
		{listOf(ctx, core.Pods("").List), kinds.Pods().Informer(), s.podHandler()},
	} {
		list, err := kind.list()
		if err != nil {
			return err
		}
		err = meta.EachListItem(list, func(o runtime.Object) error {
			if err := kind.informer.GetIndexer().Add(o); err != nil || kind.handler == nil {
				return err
			}
			kind.handler.OnAdd(o, true)
			return nil
		})
		if err != nil {
			return fmt.Errorf("reading %T: %w", list, err)
		}
	}
	return nil
}

func listOf[L runtime.Object](ctx context.Context, list func(context.Context, metav1.ListOptions) (L, error)) func() (runtime.Object, error) {
	return func() (runtime.Object, error) {
		all, err := list(ctx, metav1.ListOptions{})
		if err != nil {
			return nil, fmt.Errorf("listing %T: %w", all, err)
		}
		return all, nil
	}
}
