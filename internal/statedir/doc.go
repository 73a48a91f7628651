// Package statedir keeps the resources of sources in a directory, so that a server can start while its sources
// cannot be reached.
//
// [Dir.Source] wraps a source. The wrapper records all resources of the source, and writes them as one file once
// they have not changed for a while. After a restart, sessions get the resources of the file, and are stale.
// The file may lack resources. Sessions therefore get an error for a name that it lacks, and no answer about what a
// collection has. When
// the source has reported its resources for everything that a session wants, one change leads from the old
// resources to the new ones. Versions, epoch and revision are those of the source, so that clients receive only
// the differences.
//
// A source that knows only a part of its resources is completed by those of the file. Errors of a source do not replace
// valid resources of the file.
//
// The file has a checksum, or, with a key, is encrypted and authenticated. A damaged file is ignored.
package statedir
