// Package storageversionmigrator is the storage-version-migrator-controller (KEP-4192): for each
// StorageVersionMigration it writes all objects of a resource again, unchanged, so that they are
// stored in the current version and with the current encryption. Of several migrations of one
// resource, the oldest one runs first. The CustomResourceDefinition of the resource has the
// condition StorageMigrating meanwhile, and afterwards only its storage version in
// status.storedVersions, unless its spec has changed.
//
// Upstream's takes the objects from the caches of the garbage collector, and waits until these are
// as recent as the migration; this one lists their metadata. Upstream's also sets storedVersions after
// a migration that has failed.
package storageversionmigrator
