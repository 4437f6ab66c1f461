package controllers

import (
	"context"
	"io"
	"slices"

	storagev1 "k8s.io/api/storage/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/rest"

	"minikcm.dev/minikcm/clock"
	"minikcm.dev/minikcm/controllers/internal/cloud"
	"minikcm.dev/minikcm/controllers/internal/cloudnode"
	"minikcm.dev/minikcm/controllers/internal/cronjob"
	"minikcm.dev/minikcm/controllers/internal/daemonset"
	"minikcm.dev/minikcm/controllers/internal/devicedriver"
	devices "minikcm.dev/minikcm/controllers/internal/devicedriver/decide"
	"minikcm.dev/minikcm/controllers/internal/devicetainteviction"
	"minikcm.dev/minikcm/controllers/internal/disruption"
	"minikcm.dev/minikcm/controllers/internal/endpointslice"
	"minikcm.dev/minikcm/controllers/internal/env"
	"minikcm.dev/minikcm/controllers/internal/job"
	"minikcm.dev/minikcm/controllers/internal/nodeipam"
	"minikcm.dev/minikcm/controllers/internal/nodelifecycle"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumeattachdetach"
	"minikcm.dev/minikcm/controllers/internal/persistentvolumebinder"
	hpa "minikcm.dev/minikcm/controllers/internal/podautoscaler"
	"minikcm.dev/minikcm/controllers/internal/podgc"
	"minikcm.dev/minikcm/controllers/internal/replicaset"
	"minikcm.dev/minikcm/controllers/internal/scheduler"
	"minikcm.dev/minikcm/controllers/internal/scheduler/config"
	"minikcm.dev/minikcm/controllers/internal/scheduler/explain"
	"minikcm.dev/minikcm/controllers/internal/serviceaccount"
	"minikcm.dev/minikcm/controllers/internal/simulatedingress"
	"minikcm.dev/minikcm/controllers/internal/statefulset"
	"minikcm.dev/minikcm/controllers/internal/tainteviction"
	"minikcm.dev/minikcm/controllers/internal/volumeattacher"
	"minikcm.dev/minikcm/controllers/internal/volumeprovisioner"
	storage "minikcm.dev/minikcm/controllers/internal/volumeprovisioner/decide"
)

// The names of controllers that other folders refer to.
const (
	CloudNode               = cloudnode.Name
	CronJob                 = cronjob.Name
	DaemonSet               = daemonset.Name
	DeviceTaintEviction     = devicetainteviction.Name
	Disruption              = disruption.Name
	HorizontalPodAutoscaler = hpa.Name
	Job                     = job.Name
	NodeLifecycle           = nodelifecycle.Name
	PodGC                   = podgc.Name
	ReplicaSet              = replicaset.Name
	ServiceAccount          = serviceaccount.Name
	StatefulSet             = statefulset.Name
	TaintEviction           = tainteviction.Name
	VolumeAttachDetach      = persistentvolumeattachdetach.Name
	VolumeAttacher          = volumeattacher.Name
	VolumeBinder            = persistentvolumebinder.Name
	EndpointSlice           = endpointslice.Name
	VolumeProvisioner       = volumeprovisioner.Name
)

// Env holds the dependencies that a process's controllers and scheduler share: clients, informers, time and
// chance.
type Env = env.Env

// NodeNetworks are the ranges from which nodes get their networks.
type NodeNetworks = nodeipam.Options

type (
	// SchedulerOptions configures the scheduler; SchedulerConfig is its parsed configuration file.
	SchedulerOptions = scheduler.Options
	SchedulerConfig  = config.Config
	// Scheduler places pods on nodes.
	Scheduler = scheduler.Scheduler
	// SchedulingSimulation decides where pods would be placed, without placing them.
	SchedulingSimulation = scheduler.Simulation
)

// NewScheduler returns a scheduler that has requested its informers.
func NewScheduler(ctx context.Context, e *Env, opts SchedulerOptions) (*Scheduler, error) {
	return scheduler.New(ctx, e, opts)
}

// ReadSchedulerConfig reads a file with a KubeSchedulerConfiguration.
func ReadSchedulerConfig(file string) (*SchedulerConfig, error) { return config.Read(file) }

// SimulateScheduling returns a simulation of the scheduler on the objects that the cluster has now.
func SimulateScheduling(ctx context.Context, client kubernetes.Interface, c clock.Clock, cfg *SchedulerConfig) (*SchedulingSimulation, error) {
	return scheduler.Simulate(ctx, client, c, cfg)
}

// PrintScheduling prints the scheduler's decision that the annotations of a pod keep, if they keep one.
func PrintScheduling(w io.Writer, annotations map[string]string) error {
	return explain.Print(w, annotations)
}

// IsDriver reports whether the controllers with a service account stand for drivers and the cloud, which
// are installed with roles of their own: no role of upstream's allows their requests.
func IsDriver(account string) bool {
	return slices.Contains([]string{volumeattacher.Account, devicedriver.Account, cloud.Account, simulatedingress.Account}, account)
}

// CheckCloudProvider returns an error if there is no such cloud.
func CheckCloudProvider(name string) error { return cloud.CheckProvider(name) }

// CloudConfig returns the configuration of clients that act on the simulated cloud.
func CloudConfig(e *Env) (*rest.Config, error) { return cloud.Config(e) }

// AnnotationDevices is the annotation of a Node that describes its devices.
const AnnotationDevices = devices.Annotation

// CheckDevices returns an error if the value of AnnotationDevices is not valid.
func CheckDevices(annotation string) error {
	_, err := devices.Parse(annotation)
	return err
}

const (
	// AnnotationSimulated marks StorageClasses and CSIDrivers whose volumes are simulated.
	AnnotationSimulated = storage.Simulated
	// SimulatedProvisioner is the provisioner of the default StorageClass.
	SimulatedProvisioner = storage.Provisioner
)

// Provisions reports whether the volumes of a class are simulated.
func Provisions(class *storagev1.StorageClass) bool { return storage.Serves(class) }
