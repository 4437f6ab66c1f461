// Package podgroupprotection keeps PodGroups that are being deleted until all pods of the group have ended
// (KEP-4671). The finalizer comes from the admission plugin PodGroupProtection, when the group is created.
package podgroupprotection
