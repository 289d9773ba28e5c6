------------------------------- MODULE MacClaim -------------------------------
(***************************************************************************)
(* The life of one MAC address and its claim. VMs ask for the address,     *)
(* change, wait for migrations, start, stop and go; requests are answered  *)
(* by replicas and stored later or never; leaders, as many as believe to   *)
(* be one, release, bind and adopt. Time has no length: whatever may       *)
(* happen, may happen at any moment.                                       *)
(*                                                                         *)
(* Each operator stands for code of the same name in src/mac-pool. What is *)
(* left out is listed in docs/decisions/044.                               *)
(***************************************************************************)
EXTENDS Naturals, FiniteSets, TLC

CONSTANTS
  Names,     \* of VMs
  Leaders,   \* replicas that believe to be the leader
  Requests,  \* 1..n: how many requests of users there are
  Policy,    \* "Deny" or "DenyRunning"
  Features,  \* of "old", "receivers", "runs", "returns", "updates", "torn": what happens besides creation and deletion
  Guards     \* a model without one of them has to fail

VARIABLES
  claim,  \* the claim, as etcd has it
  vm,     \* name -> the stored VM
  vmi,    \* name -> the stored instance, if it has the address
  req,    \* request -> how far it is
  start,  \* name -> the creation of an instance that is under way
  step    \* leader -> the reconciliation that is under way

vars == <<claim, vm, vmi, req, start, step>>

None == [none |-> TRUE]
NoUid == 0
(* The UID of a VM that is older than the pool. Others have the number of the request that created them. *)
OldUid == Cardinality(Requests) + 1
May(feature) == feature \in Features
Has(guard) == guard \in Guards

(* An entry of status.owners. `by` is the request that was granted, which is what `since` tells. *)
Entry(name, uid, by, receiver) == [n |-> name, uid |-> uid, by |-> by, receiver |-> receiver, starting |-> FALSE]
Pending(owners) == [phase |-> "Pending", owners |-> owners, waits |-> TRUE]
Bound(owners) == [phase |-> "Bound", owners |-> owners, waits |-> FALSE]
Quarantined == [phase |-> "Quarantined", owners |-> {}, waits |-> FALSE]

SameParty(a, b) == a.n = b.n /\ (a.uid = NoUid \/ b.uid = NoUid \/ a.uid = b.uid)
MayBe(pending, object) == pending.n = object.n /\ (pending.uid = NoUid \/ pending.uid = object.uid)

-----------------------------------------------------------------------------
(* Writes. Who has read an older version of the claim finds that out, unless the version is no guard. *)

Write(c) ==
  /\ claim' = c
  /\ step' = [l \in Leaders |-> IF Has("version") /\ step[l] # None /\ step[l].seen # None THEN None ELSE step[l]]

(* Everybody else's requests and starts, after a write. *)
OthersOutdated(i) == [j \in Requests |-> IF j = i THEN req[j] ELSE
  IF Has("version") /\ (req[j].pc = "read" \/ (req[j].pc = "granted" /\ May("returns"))) THEN [req[j] EXCEPT !.fresh = FALSE]
  ELSE [req[j] EXCEPT !.after = FALSE]]
StartsOutdated(name) == [n \in Names |->
  IF Has("version") /\ n # name /\ start[n] # None /\ start[n].pc \in {"read", "checked"} /\ ~start[n].absent
  THEN [start[n] EXCEPT !.pc = "asked", !.seen = None] ELSE start[n]]

-----------------------------------------------------------------------------
(* What caches may show: anything that was true at some time. What is older than the pool is in them from the beginning. *)

Created(i) == req[i].kind = "create" /\ req[i].pc = "stored"
IsOld(object) == object # None /\ object.uid = OldUid
OldSighting(n) == [n |-> n, uid |-> OldUid, receiver |-> FALSE]
Sightings ==
  {[n |-> req[i].n, uid |-> i, receiver |-> req[i].receiver] : i \in {j \in Requests : Created(j)}}
  \cup {OldSighting(n) : n \in {m \in Names : IsOld(vm[m]) \/ IsOld(vmi[m])}}
Certain == {OldSighting(n) : n \in {m \in Names : (IsOld(vm[m]) /\ vm[m].lists) \/ IsOld(vmi[m])}}

(* Objects that list the address, as a replica knows them; without the one that asks. *)
Listers(holder) == IF ~Has("listers") THEN {{}} ELSE
  LET others == {s \in Sightings : ~SameParty(s, holder)}
  IN {known \in SUBSET others : (Certain \cap others) \subseteq known}

-----------------------------------------------------------------------------
(* The ledger: core/grant.ts, ledger/explicit-claim.ts. *)

(* When a request was granted: later than any other. *)
Latest == LET granted == {req[i].since : i \in Requests} IN CHOOSE s \in granted : \A t \in granted : t <= s
SinceOf(by) == IF by \in Requests THEN req[by].since ELSE 0

EntryOf(i) == Entry(req[i].n, req[i].uid, i, req[i].receiver /\ Has("receiver remembered"))

WithListers(c, listers) ==
  LET owners == IF c.phase = "Quarantined" THEN {} ELSE c.owners
      unknown == {l \in listers : ~\E o \in owners : MayBe(o, l)}
  IN IF unknown = {} THEN c
     ELSE [c EXCEPT !.phase = "Bound", !.owners = owners \cup {Entry(l.n, l.uid, 0, l.receiver) : l \in unknown}]

WithOwner(owners, i) ==
  LET new == EntryOf(i)
      twins == {o \in owners : SameParty(o, new) /\ o.uid = new.uid}
  IN IF new.uid # NoUid /\ twins # {}
     THEN (owners \ twins) \cup {[o EXCEPT !.by = i, !.receiver = new.receiver] : o \in twins}
     ELSE owners \cup {new}

(* None: refused. *)
Decide(i, found) ==
  LET status == WithListers(found, req[i].listers)
      owners == IF Has("owner comparison") THEN status.owners ELSE {}
      holder == EntryOf(i)
      isOwner == \E o \in owners : SameParty(o, holder)
      others == IF isOwner THEN {o \in owners : o.n # holder.n} ELSE owners
      hasIt == holder.uid # NoUid /\ \E o \in owners : o.uid = holder.uid /\ ~o.receiver
  IN IF status.phase = "Quarantined" \/ owners = {} THEN Pending({holder})
     ELSE IF others # {} /\ ~hasIt /\ ~req[i].receiver /\ Policy = "Deny" THEN None
     ELSE [phase |-> status.phase, owners |-> WithOwner(owners, i), waits |-> TRUE]

HasReceived(n, uid) == vmi[n] # None /\ vmi[n].uid = uid /\ vmi[n].received

(* A user's request reaches a replica, which looks into its caches. *)
Ask(i, kind, n, uid, receiver) ==
  /\ req[i].pc = "free"
  /\ \A j \in Requests : j < i => req[j].pc # "free"
  /\ \E listers \in Listers([n |-> n, uid |-> uid]) :
       req' = [req EXCEPT ![i] = [pc |-> IF listers = {} THEN "asked" ELSE "conflict", kind |-> kind, n |-> n, uid |-> uid,
                                  receiver |-> receiver, listers |-> listers, seen |-> None, fresh |-> TRUE,
                                  since |-> 0, after |-> FALSE]]
  /\ UNCHANGED <<claim, vm, vmi, start, step>>

AskCreate(i, n) == \E receiver \in (IF May("receivers") THEN BOOLEAN ELSE {FALSE}) : Ask(i, "create", n, NoUid, receiver)
AskAdd(i, n) == May("updates") /\ vm[n] # None /\ ~vm[n].lists /\ ~vm[n].receiver /\ Ask(i, "add", n, vm[n].uid, FALSE)
AskNotToWait(i, n) ==
  vm[n] # None /\ vm[n].lists /\ vm[n].receiver /\ Ask(i, "unwait", n, vm[n].uid, HasReceived(n, vm[n].uid))

Granted(i, c) ==
  /\ Write(c)
  /\ req' = [OthersOutdated(i) EXCEPT ![i].pc = "granted", ![i].fresh = TRUE, ![i].listers = {},
                                       ![i].since = Latest + 1, ![i].seen = IF May("returns") THEN @ ELSE None]
  /\ start' = StartsOutdated("")
  /\ UNCHANGED <<vm, vmi>>

TryCreate(i) ==
  /\ req[i].pc = "asked"
  /\ IF claim = None \/ ~Has("create as lock") THEN Granted(i, Pending({EntryOf(i)}))
     ELSE req' = [req EXCEPT ![i].pc = "conflict"] /\ UNCHANGED <<claim, vm, vmi, start, step>>

Read(i) ==
  /\ req[i].pc = "conflict"
  /\ req' = [req EXCEPT ![i].pc = "read", ![i].seen = claim, ![i].fresh = TRUE]
  /\ UNCHANGED <<claim, vm, vmi, start, step>>

Ended(i, pc) == [req[i] EXCEPT !.pc = pc, !.listers = {}, !.seen = None, !.fresh = FALSE]
Unclaimed == [phase |-> "Bound", owners |-> {}, waits |-> FALSE]

WriteGrant(i) ==
  /\ req[i].pc = "read"
  /\ LET seen == req[i].seen
         decision == IF seen = None /\ req[i].listers = {} THEN Pending({EntryOf(i)})
                     ELSE Decide(i, IF seen = None THEN Unclaimed ELSE seen)
         works == IF seen = None THEN claim = None ELSE claim # None /\ req[i].fresh
     IN IF decision = None THEN req' = [req EXCEPT ![i] = Ended(i, "dropped")] /\ UNCHANGED <<claim, vm, vmi, start, step>>
        ELSE IF works THEN Granted(i, decision)
        ELSE req' = [req EXCEPT ![i].pc = "conflict", ![i].seen = None] /\ UNCHANGED <<claim, vm, vmi, start, step>>

(* Another interface of the object was refused. *)
GiveBack(i) ==
  /\ May("returns")
  /\ req[i].pc = "granted" /\ req[i].fresh /\ claim # None
  /\ Write(req[i].seen)
  /\ req' = [OthersOutdated(i) EXCEPT ![i] = Ended(i, "dropped")]
  /\ start' = StartsOutdated("")
  /\ UNCHANGED <<vm, vmi>>

(* The replica dies, its answer is lost, or something else refuses the object: the claim stays as it is. *)
Drop(i) ==
  /\ req[i].pc \in {"asked", "conflict", "read", "granted"}
  /\ req' = [req EXCEPT ![i] = Ended(i, "dropped")]
  /\ UNCHANGED <<claim, vm, vmi, start, step>>

Store(i) ==
  LET r == req[i] IN
  /\ r.pc = "granted"
  /\ CASE r.kind = "create" -> /\ vm[r.n] = None
                               /\ vm' = [vm EXCEPT ![r.n] = [uid |-> i, lists |-> TRUE, receiver |-> r.receiver]]
       [] r.kind = "add" -> /\ vm[r.n] = [uid |-> r.uid, lists |-> FALSE, receiver |-> FALSE]
                            /\ vm' = [vm EXCEPT ![r.n].lists = TRUE]
       [] OTHER -> /\ vm[r.n] = [uid |-> r.uid, lists |-> TRUE, receiver |-> TRUE]
                   /\ vm' = [vm EXCEPT ![r.n].receiver = FALSE]
  /\ req' = [req EXCEPT ![i] = [Ended(i, "stored") EXCEPT !.after = r.kind = "create"]]
  /\ UNCHANGED <<claim, vmi, start, step>>

-----------------------------------------------------------------------------
(* What needs no answer of the pool. *)

(* An instance is stored before its VM has changed. The model says what happens if it is not. *)
MayLetGo(n) == Has("prompt starts") => start[n] = None

Delete(n) == vm[n] # None /\ MayLetGo(n) /\ vm' = [vm EXCEPT ![n] = None] /\ UNCHANGED <<claim, vmi, req, start, step>>
GiveUp(n) ==
  /\ May("updates")
  /\ vm[n] # None /\ vm[n].lists /\ ~vm[n].receiver /\ MayLetGo(n)
  /\ vm' = [vm EXCEPT ![n].lists = FALSE] /\ UNCHANGED <<claim, vmi, req, start, step>>
Stop(n) == vmi[n] # None /\ vmi' = [vmi EXCEPT ![n] = None] /\ UNCHANGED <<claim, vm, req, start, step>>
Migrate(from, to) ==
  /\ vmi[from] # None /\ vmi[from].on /\ vmi[to] # None /\ ~vmi[to].on
  /\ vmi' = [vmi EXCEPT ![from] = None, ![to].on = TRUE, ![to].received = TRUE]
  /\ UNCHANGED <<claim, vm, req, start, step>>

-----------------------------------------------------------------------------
(* virt-controller creates an instance: webhooks/start-review.ts, starts/start-gate.ts. *)

AskStart(n) ==
  /\ May("runs")
  /\ vm[n] # None /\ vm[n].lists /\ vmi[n] = None /\ start[n] = None
  /\ start' = [start EXCEPT ![n] = [pc |-> "asked", uid |-> vm[n].uid, waits |-> vm[n].receiver, seen |-> None,
                                 absent |-> FALSE]]
  /\ UNCHANGED <<claim, vm, vmi, req, step>>

IsExclusive ==
  \/ Policy = "DenyRunning"
  \/ claim # None /\ Cardinality({o.n : o \in claim.owners}) > 1 /\ \E o \in claim.owners : o.receiver

ReadForStart(n) ==
  /\ start[n] # None /\ start[n].pc = "asked"
  /\ \E listers \in Listers([n |-> n, uid |-> start[n].uid]) :
       LET found == WithListers(IF claim = None THEN Unclaimed ELSE claim, listers)
           isNobodys == found.owners = {} /\ (claim # None \/ ~Has("unclaimed noted"))
       IN start' = IF ~Has("start gate") \/ ~IsExclusive \/ isNobodys THEN [start EXCEPT ![n].pc = "judged"]
                   ELSE [start EXCEPT ![n].pc = "read", ![n].seen = found, ![n].absent = claim = None]
  /\ UNCHANGED <<claim, vm, vmi, req, step>>

IsOf(o, n) == o.n = n /\ (o.uid = NoUid \/ o.uid = start[n].uid)
MayWait(n) ==
  /\ start[n].waits
  /\ \E o \in start[n].seen.owners : o.receiver /\ IsOf(o, n)
  /\ vm[n] # None /\ vm[n].uid = start[n].uid /\ vm[n].receiver
IsRunning(o) == vmi[o.n] # None /\ vmi[o.n].on /\ (o.uid = NoUid \/ vmi[o.n].uid = o.uid)
IsStarting(o) == o.starting /\ start[o.n] # None /\ start[o.n].pc = "judged"
Judged(n) == [start EXCEPT ![n].pc = "judged", ![n].seen = None, ![n].absent = FALSE]

CheckStart(n) ==
  /\ start[n] # None /\ start[n].pc = "read"
  /\ LET others == {o \in start[n].seen.owners : ~IsOf(o, n)}
     IN start' = IF MayWait(n) THEN Judged(n)
                 ELSE IF \E o \in others : IsRunning(o) \/ IsStarting(o) THEN [start EXCEPT ![n] = None]
                 ELSE [start EXCEPT ![n].pc = "checked"]
  /\ UNCHANGED <<claim, vm, vmi, req, step>>

NoteStart(n) ==
  /\ start[n] # None /\ start[n].pc = "checked"
  /\ LET owners == start[n].seen.owners
         known == IF \E o \in owners : IsOf(o, n) THEN owners ELSE owners \cup {Entry(n, start[n].uid, 0, FALSE)}
         noted == {IF IsOf(o, n) THEN [o EXCEPT !.starting = TRUE] ELSE o : o \in known}
         works == IF start[n].absent THEN claim = None ELSE claim # None
     IN IF ~Has("start noted") THEN start' = Judged(n) /\ UNCHANGED <<claim, req, step>>
        ELSE IF ~works THEN start' = [start EXCEPT ![n].pc = "asked", ![n].seen = None, ![n].absent = FALSE]
                            /\ UNCHANGED <<claim, req, step>>
        ELSE /\ Write([start[n].seen EXCEPT !.owners = noted])
             /\ req' = OthersOutdated(0)
             /\ start' = [m \in Names |-> IF m = n THEN Judged(n)[n] ELSE StartsOutdated(n)[m]]
  /\ UNCHANGED <<vm, vmi>>

DropStart(n) == start[n] # None /\ start' = [start EXCEPT ![n] = None] /\ UNCHANGED <<claim, vm, vmi, req, step>>

StoreInstance(n) ==
  /\ start[n] # None /\ start[n].pc = "judged" /\ vmi[n] = None
  /\ vmi' = [vmi EXCEPT ![n] = [uid |-> start[n].uid, on |-> ~start[n].waits, received |-> FALSE]]
  /\ start' = [start EXCEPT ![n] = None]
  /\ UNCHANGED <<claim, vm, req, step>>

-----------------------------------------------------------------------------
(* The leader: core/lifecycle.ts, evidence/live-evidence.ts. *)

(* VMs that were created after the claim was last written, and may be gone: caches/creations.ts. *)
CreatedAfter(owners) ==
  {[n |-> req[i].n, uid |-> i] : i \in {j \in Requests : /\ Created(j) /\ (req[j].after \/ ~Has("created later"))
                                                       /\ \E o \in owners : o.uid = NoUid /\ o.n = req[j].n}}

UnderWay(by) == by \in Requests /\ req[by].pc = "granted"

Begin(l) ==
  /\ step[l] = None /\ claim # None
  /\ \E sighted \in SUBSET ({s.n : s \in Sightings} \ {o.n : o \in claim.owners}), overdue \in SUBSET claim.owners :
       (* A wait is longer than a request lives, and begins at the grant or later. *)
       /\ Has("deadline kept") => \A o \in overdue, i \in Requests : UnderWay(i) => req[i].since > SinceOf(o.by)
       /\ \E created \in SUBSET CreatedAfter(claim.owners) :
            step' = [step EXCEPT ![l] = [seen |-> claim, overdue |-> overdue, todo |-> {o.n : o \in claim.owners} \cup sighted,
                                         at |-> "", holders |-> {}, existing |-> {}, created |-> created]]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

(* A claim is made from the caches. Who is named in it and gone is found out when its deletion is seen. *)
Adopt(l) ==
  /\ step[l] = None /\ claim = None
  /\ \E sighted \in SUBSET Sightings \ {{}} :
       LET holders == {[n |-> s.n, uid |-> s.uid, confirms |-> FALSE, receiver |-> IF s.receiver THEN "yes" ELSE "no"] : s \in sighted}
       IN step' = [step EXCEPT ![l] = [seen |-> None, overdue |-> {}, todo |-> {}, at |-> "", holders |-> holders,
                                       existing |-> {}, created |-> {}]]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

UidsOf(s, n) == {o.uid : o \in {p \in s.seen.owners : p.n = n}} \ {NoUid}

(* An object that is older than the pool is not what a creation was admitted for. *)
Confirms(uid) == uid # OldUid \/ ~Has("admitted object")

(* Without the live read a cache answers, which may not show the object yet. *)
Shown(object) == IF Has("live read") THEN {object} ELSE {object, None}

FoundIn(s, n) ==
  LET vmThere == vm[n] # None
      lists == vmThere /\ vm[n].lists
      isIt == lists /\ UidsOf(s, n) \subseteq {vm[n].uid}
      inVm == IF lists THEN {[n |-> n, uid |-> vm[n].uid, confirms |-> Confirms(vm[n].uid),
                              receiver |-> IF vm[n].receiver THEN "yes" ELSE "no"]} ELSE {}
      inInstance == IF isIt \/ vmi[n] = None \/ (lists /\ vm[n].uid = vmi[n].uid) THEN {}
                    ELSE {[n |-> n, uid |-> vmi[n].uid, confirms |-> ~Has("admitted object"), receiver |-> "?"]}
  IN inVm \cup inInstance

ReadAll(l) ==
  LET s == step[l] IN
  /\ ~May("torn") /\ s # None /\ s.todo # {}
  /\ \E shown \in IF Has("live read") THEN {s.todo} ELSE SUBSET s.todo :
       step' = [step EXCEPT ![l].todo = {}, ![l].holders = UNION {FoundIn(s, n) : n \in shown},
                            ![l].existing = {vm[n].uid : n \in {m \in shown : vm[m] # None}}]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

ReadVm(l, n) ==
  LET s == step[l] IN
  /\ May("torn") /\ s # None /\ s.at = "" /\ n \in s.todo
  /\ \E seen \in Shown(vm[n]) :
       LET lists == seen # None /\ seen.lists
           isIt == lists /\ UidsOf(s, n) \subseteq {seen.uid}
       IN step' = [step EXCEPT
            ![l].existing = IF seen = None THEN @ ELSE @ \cup {seen.uid},
            ![l].holders = IF lists THEN @ \cup {[n |-> n, uid |-> seen.uid, confirms |-> Confirms(seen.uid),
                                                  receiver |-> IF seen.receiver THEN "yes" ELSE "no"]} ELSE @,
            ![l].at = IF isIt THEN "" ELSE n,
            ![l].todo = IF isIt THEN @ \ {n} ELSE @]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

ReadInstance(l) ==
  LET s == step[l] IN
  /\ s # None /\ s.at # ""
  /\ \E seen \in Shown(vmi[s.at]) :
       step' = [step EXCEPT
         ![l].holders = IF seen = None \/ \E h \in @ : h.n = s.at /\ h.uid = seen.uid THEN @
                        ELSE @ \cup {[n |-> s.at, uid |-> seen.uid, confirms |-> ~Has("admitted object"), receiver |-> "?"]},
         ![l].at = "", ![l].todo = @ \ {s.at}]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

IsPending(s, o) == s.seen.waits /\ o \notin s.overdue

(* Owners without UID take what is left, the first admitted first, and what confirms first. *)
RECURSIVE Matched(_, _, _)
Matched(s, entries, left) ==
  IF entries = {} THEN [h \in {} |-> {}]
  ELSE LET e == CHOOSE x \in entries : \A y \in entries : SinceOf(x.by) <= SinceOf(y.by)
           known == {o.uid : o \in s.seen.owners}
           fit == {h \in left : h.n = e.n /\ (IsPending(s, e) => h.confirms) /\ h.uid \notin known}
           best == IF \E h \in fit : h.confirms THEN {h \in fit : h.confirms} ELSE fit
           rest == IF fit = {} THEN Matched(s, entries \ {e}, left)
                   ELSE Matched(s, entries \ {e}, left \ {CHOOSE h \in best : TRUE})
       IN [x \in entries |-> IF x = e THEN (IF fit = {} THEN None ELSE CHOOSE h \in best : TRUE) ELSE rest[x]]

HolderOf(s, o) ==
  LET byUid == {h \in s.holders : h.n = o.n /\ h.uid = o.uid}
      taken == {h \in s.holders : \E p \in s.seen.owners : p.n = h.n /\ p.uid = h.uid}
      nameless == {p \in s.seen.owners : p.uid = NoUid}
  IN IF o.uid # NoUid THEN (IF byUid = {} THEN None ELSE CHOOSE h \in byUid : TRUE)
     ELSE Matched(s, nameless, s.holders \ taken)[o]

Refreshed(o, h, alone) == [o EXCEPT !.uid = h.uid,
  !.receiver = IF h.receiver = "no" /\ alone THEN FALSE ELSE h.receiver = "yes" \/ @]

Settled(s) ==
  LET owners == s.seen.owners
      holder == [o \in owners |-> HolderOf(s, o)]
      mayFollow == [o \in owners |-> IsPending(s, o) /\ (o.uid = NoUid \/ o.uid \in s.existing)]
      staying == {o \in owners : holder[o] # None \/ mayFollow[o]}
      kept == {IF holder[o] = None THEN o ELSE Refreshed(o, holder[o], Cardinality(owners) = 1) : o \in staying}
      matched == {holder[o] : o \in owners} \ {None}
      new == {h \in s.holders \ matched : ~\E k \in kept : k.uid # NoUid /\ k.n = h.n /\ k.uid = h.uid}
      inherits(h) == h.receiver = "?" /\ Has("mark inherited") /\ \E o \in owners : o.n = h.n /\ o.receiver
      added == {Entry(h.n, h.uid, 0, h.receiver = "yes" \/ inherits(h)) : h \in new}
  IN [owners |-> kept \cup added,
      waiting |-> \E o \in owners : mayFollow[o] /\ (IF holder[o] = None THEN TRUE ELSE ~holder[o].confirms),
      seen |-> matched # {} \/ added # {}]

(* Owners whose VMs have been stored, the first admitted first, with the UIDs of these. The first may be overdue. *)
RECURSIVE WhichWereStored(_, _)
WhichWereStored(entries, left) ==
  IF entries = {} THEN {}
  ELSE LET e == CHOOSE x \in entries : \A y \in entries : SinceOf(x.by) <= SinceOf(y.by)
           fit == {c \in left : c.n = e.n}
           c == CHOOSE x \in fit : TRUE
       IN IF fit = {} THEN WhichWereStored(entries \ {e}, left)
          ELSE {<<e, [e EXCEPT !.uid = c.uid]>>} \cup WhichWereStored(entries \ {e}, left \ {c})

(* They are waited for no longer. *)
Known(s) ==
  LET pairs == WhichWereStored({o \in s.seen.owners : o.uid = NoUid}, s.created)
      stored == {p[2] : p \in pairs}
  IN [s EXCEPT !.seen.owners = (@ \ {p[1] : p \in pairs}) \cup stored, !.overdue = @ \cup stored]

Adopted(s) == Bound({Entry(h.n, h.uid, 0, h.receiver = "yes") : h \in s.holders})

(* The claim as it should be. *)
NextStep(s) ==
  IF s.seen = None THEN Adopted(s)
  ELSE IF s.seen.phase = "Quarantined" THEN (IF s.holders = {} THEN None ELSE Adopted(s))
  ELSE LET known == Known(s)
           settled == Settled(known)
       IN IF settled.waiting
          THEN [phase |-> IF settled.seen THEN "Bound" ELSE "Pending", owners |-> settled.owners, waits |-> TRUE]
          ELSE IF settled.owners # {} THEN Bound(settled.owners)
          ELSE IF \E o \in known.seen.owners : o.uid # NoUid THEN Quarantined ELSE None

WriteStep(l) ==
  LET s == step[l]
      next == NextStep(s)
      works == IF s.seen = None THEN claim = None ELSE claim # None
  IN /\ s # None /\ s.todo = {}
     /\ IF next = s.seen \/ ~works THEN step' = [step EXCEPT ![l] = None] /\ UNCHANGED <<claim, req, start>>
        ELSE /\ claim' = next
             /\ step' = [k \in Leaders |-> IF k = l THEN None
                          ELSE IF Has("version") /\ step[k] # None /\ step[k].seen # None THEN None ELSE step[k]]
             /\ req' = OthersOutdated(0)
             /\ start' = StartsOutdated("")
     /\ UNCHANGED <<vm, vmi>>

-----------------------------------------------------------------------------

Free == [pc |-> "free", since |-> 0, kind |-> "", n |-> "", uid |-> NoUid, receiver |-> FALSE, listers |-> {}, seen |-> None, fresh |-> FALSE, after |-> FALSE]

(* There may be a VM that is older than the pool, and it may run. *)
Init ==
  /\ claim = None
  /\ \E old \in SUBSET Names :
       /\ Cardinality(old) <= (IF May("old") THEN 1 ELSE 0)
       /\ vm = [n \in Names |-> IF n \in old THEN [uid |-> OldUid, lists |-> TRUE, receiver |-> FALSE] ELSE None]
       /\ \E running \in SUBSET old :
            vmi = [n \in Names |-> IF n \in running THEN [uid |-> OldUid, on |-> TRUE, received |-> FALSE] ELSE None]
  /\ req = [i \in Requests |-> Free]
  /\ start = [n \in Names |-> None]
  /\ step = [l \in Leaders |-> None]

Next ==
  \/ \E i \in Requests :
       \/ \E n \in Names : AskCreate(i, n) \/ AskAdd(i, n) \/ AskNotToWait(i, n)
       \/ TryCreate(i) \/ Read(i) \/ WriteGrant(i) \/ GiveBack(i) \/ Drop(i) \/ Store(i)
  \/ \E n \in Names :
       \/ Delete(n) \/ GiveUp(n) \/ Stop(n)
       \/ AskStart(n) \/ ReadForStart(n) \/ CheckStart(n) \/ NoteStart(n) \/ DropStart(n) \/ StoreInstance(n)
       \/ \E to \in Names : Migrate(n, to)
  \/ \E l \in Leaders :
       \/ Begin(l) \/ Adopt(l) \/ ReadAll(l) \/ ReadInstance(l) \/ WriteStep(l)
       \/ \E n \in Names : ReadVm(l, n)

Symmetry == Permutations(Names)
Spec == Init /\ [][Next]_vars

-----------------------------------------------------------------------------

(* No two instances of different VMs are on the network with the address. *)
OneRuns == \A a, b \in Names : vmi[a] # None /\ vmi[b] # None /\ vmi[a].on /\ vmi[b].on => a = b

(* It waits for a migration, or has received one. *)
Excused(n) ==
  \/ vm[n].receiver
  \/ \E i \in Requests : req[i].pc = "stored" /\ req[i].kind = "unwait" /\ req[i].uid = vm[n].uid /\ req[i].receiver
Lists(n) == vm[n] # None /\ vm[n].lists /\ ~Excused(n)
(* Under Deny no two VMs list the address, except for receivers of migrations. *)
OneLists == Policy = "Deny" => Cardinality({n \in Names : Lists(n)}) <= 1

(* Under Deny one owner in the claim has the address, or is about to have it; except for receivers. *)
Holds(o) ==
  \/ UnderWay(o.by) /\ ~req[o.by].receiver
  \/ Lists(o.n) /\ MayBe(o, [n |-> o.n, uid |-> vm[o.n].uid])
  \/ vmi[o.n] # None /\ vmi[o.n].on /\ ~vmi[o.n].received /\ MayBe(o, [n |-> o.n, uid |-> vmi[o.n].uid])
OneHolds == Policy = "Deny" /\ claim # None => Cardinality({o.n : o \in {p \in claim.owners : Holds(p)}}) <= 1

IsNamed(n) == claim # None /\ claim.phase # "Quarantined" /\ \E o \in claim.owners : o.n = n
(* Who was admitted with the address is named by the claim. *)
Claimed == \A n \in Names :
  /\ vm[n] # None /\ vm[n].lists /\ vm[n].uid # OldUid => IsNamed(n)
  /\ vmi[n] # None /\ vmi[n].uid # OldUid => IsNamed(n)
=============================================================================
