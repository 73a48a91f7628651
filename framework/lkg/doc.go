// Package lkg keeps the last known good resources of clients, so that a program can start while no
// control plane answers.
//
// A [Store] is a directory. While a client has a live server, the store keeps the resources in use.
// When the client reaches none of the servers of an authority, the store is the last server of that
// authority (gRFC A71): it answers for resources that the client has not cached. The first response
// of a live server replaces it.
//
// # Generations
//
// The store writes whole generations: all resources of an authority in one file, after the
// resources have not changed for a while ([Options.Quiet]), and only while the client waits for none
// of them. So a generation worked together. A file is written under another name, synced, renamed,
// and the directory is synced. A crash leaves the previous generation or the new one. Open reads
// the newest intact one, and ignores damaged files with a line in the log.
//
// A resource that nobody watches any more stays in the next generations until it is too old. A
// resource that a server removed does not.
//
// # Age
//
// A resource is as old as the last moment at which a client watched it and had a live server. The
// store does not return resources older than [Options.MaxAge], or whose time to live is over.
//
// # Trust
//
// Whoever can write to the directory is a control plane of the program. The directory and its files
// must belong to the user of the process, and nobody else may write to them. With [Options.Key],
// the files are encrypted and authenticated. Resources with secrets are stored only then. Someone
// who can replace files may still restore an older generation; [Options.MaxAge] bounds its age.
//
// # Processes
//
// One process at a time writes to a directory. It has a lock that ends with the process. Others
// read the directory, and take over when the lock is free. A directory belongs to one node.
//
// The store never says that a resource does not exist.
package lkg
