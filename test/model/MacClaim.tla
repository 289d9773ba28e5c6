------------------------------- MODULE MacClaim -------------------------------
(***************************************************************************)
(* The life of one MAC address and its claim. VMs ask for the address,     *)
(* change, wait for migrations, start, stop and go; requests are answered  *)
(* by replicas and stored later or never; leaders, as many as believe to   *)
(* be one, release and adopt. Time has no length: whatever may happen, may *)
(* happen at any moment.                                                   *)
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
  Features,  \* of "old", "receivers", "turns", "runs", "returns", "updates", "torn": what happens besides creation and deletion
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
Again == OldUid + 1
May(feature) == feature \in Features
Has(guard) == guard \in Guards

(* An entry of status.owners. Whoever has the name is that owner. *)
Entry(name, receiver) == [n |-> name, receiver |-> receiver, starting |-> FALSE]
(* `last`: who was admitted last. `made`: its UID, which a creation has none of; Again when others may be under way. *)
Made(owners, name, uid) == [phase |-> "Allocated", owners |-> owners, last |-> name, made |-> uid]
Allocated(owners) == Made(owners, "", Again)
Quarantined == [phase |-> "Quarantined", owners |-> {}, last |-> "", made |-> Again]
Unclaimed == Allocated({})
Named(owners) == {o.n : o \in owners}

-----------------------------------------------------------------------------
(* Writes. Who has read an older version of the claim finds that out, unless the version is no guard. *)

Write(c) ==
  /\ claim' = c
  /\ step' = [l \in Leaders |-> IF Has("version") /\ step[l] # None /\ step[l].seen # None THEN None ELSE step[l]]

(* Everybody else's requests and starts, after a write. `after`: stored since the last admission. *)
OthersOutdated(i) == [j \in Requests |-> IF j = i THEN req[j]
  ELSE IF Has("version") /\ req[j].pc = "read" THEN [req[j] EXCEPT !.pc = "conflict", !.seen = None]
  ELSE IF Has("version") /\ req[j].pc = "granted" THEN [req[j] EXCEPT !.seen = None, !.fresh = FALSE]
  ELSE [req[j] EXCEPT !.after = @ /\ i = 0]]
StartsOutdated(name) == [n \in Names |->
  IF Has("version") /\ n # name /\ start[n] # None /\ start[n].pc \in {"read", "checked"} /\ ~start[n].absent
  THEN [start[n] EXCEPT !.pc = "asked", !.seen = None] ELSE start[n]]

-----------------------------------------------------------------------------
(* What caches may show: anything that was true at some time. What is older than the pool is in them from the beginning. *)

IsOld(object) == object # None /\ object.uid = OldUid
IsStored(i) == req[i].pc = "stored"
ObservedOwners ==
  {[n |-> req[i].n, receiver |-> req[i].kind # "unwait" /\ req[i].receiver] : i \in {j \in Requests : IsStored(j)}}
  \cup {[n |-> m, receiver |-> FALSE] : m \in {k \in Names : IsOld(vm[k]) \/ vmi[k] # None}}
Certain == {n \in Names : (IsOld(vm[n]) /\ vm[n].lists) \/ IsOld(vmi[n])}
OneOfEach(sighted) == \A s, t \in sighted : s.n = t.n => s = t

(* Objects that list the address, as a replica knows them; without the one that asks. *)
ObjectsListing(n) == IF ~Has("objectsListing") THEN {{}} ELSE
  {known \in SUBSET {s \in ObservedOwners : s.n # n} : OneOfEach(known) /\ Certain \ {n} \subseteq {s.n : s \in known}}

-----------------------------------------------------------------------------
(* The ledger: core/grant.ts, ledger/explicit-claim.ts. *)

WithObjectsListing(c, objectsListing) ==
  LET unknown == {l \in objectsListing : l.n \notin Named(c.owners)}
  IN IF unknown = {} THEN c ELSE [c EXCEPT !.phase = "Allocated", !.owners = @ \cup {Entry(l.n, l.receiver) : l \in unknown}]

EntryOf(i) == Entry(req[i].n, req[i].receiver /\ Has("receiver remembered"))
Renewed(owners, i) == {[EntryOf(i) EXCEPT !.starting = Has("start kept") /\ \E o \in owners : o.n = req[i].n /\ o.starting]}

-----------------------------------------------------------------------------
(* Whether whoever was admitted may still come: caches/admissions.ts. *)

UnderWay(i) == req[i].pc = "granted"

(* What was admitted last has been stored, and may be gone; and nobody else is under way. *)
HasCome(c) ==
  /\ c.last # ""
  /\ Has("last admission") => c.made # Again
  /\ \E i \in Requests :
       /\ IsStored(i) /\ req[i].kind # "unwait"
       /\ req[i].after \/ ~Has("arrived later")
       /\ IF c.made \in {NoUid, Again} THEN req[i].kind = "create" /\ req[i].n = c.last
          ELSE c.made = IF req[i].kind = "create" THEN i ELSE req[i].uid

(* A wait is longer than a request lives, and begins at the last admission or later. *)
MayBeOver == Has("deadline kept") => ~\E i \in Requests : UnderWay(i)

(* Whether the next who is admitted is the only one. Who has looked later than that knows less. *)
IsAlone(c) == c.phase = "Quarantined" \/ c.owners = {} \/ MayBeOver \/ HasCome(c)
Admitted(i, c, owners) == Made(owners, req[i].n, IF IsAlone(c) THEN req[i].uid ELSE Again)

-----------------------------------------------------------------------------

(* None: refused. *)
Decide(i, found) ==
  LET status == WithObjectsListing(found, req[i].objectsListing)
      owners == IF Has("owner comparison") THEN status.owners ELSE {}
      others == {o \in owners : o.n # req[i].n}
      had == req[i].kind = "unwait"
      hasIt == had /\ \E o \in owners \ others : ~o.receiver
  IN IF owners = {} THEN Admitted(i, found, {EntryOf(i)})
     ELSE IF others # {} /\ ~hasIt /\ ~req[i].receiver /\ Policy = "Deny" THEN None
     ELSE Admitted(i, found, others \cup Renewed(owners, i))

HasReceived(n, uid) == vmi[n] # None /\ vmi[n].uid = uid /\ vmi[n].received

(* A user's request reaches a replica, which looks into its caches. *)
Ask(i, kind, n, uid, receiver) ==
  /\ req[i].pc = "free"
  /\ \A j \in Requests : j < i => req[j].pc # "free"
  /\ \E objectsListing \in ObjectsListing(n) :
       req' = [req EXCEPT ![i] = [pc |-> IF objectsListing = {} THEN "asked" ELSE "conflict", kind |-> kind, n |-> n, uid |-> uid,
                                  receiver |-> receiver, objectsListing |-> objectsListing, seen |-> None, fresh |-> FALSE,
                                  after |-> FALSE]]
  /\ UNCHANGED <<claim, vm, vmi, start, step>>

AskCreate(i, n) == \E receiver \in (IF May("receivers") THEN BOOLEAN ELSE {FALSE}) : Ask(i, "create", n, NoUid, receiver)
AskAdd(i, n) == May("updates") /\ vm[n] # None /\ ~vm[n].lists /\ Ask(i, "add", n, vm[n].uid, vm[n].receiver)
AskNotToWait(i, n) ==
  vm[n] # None /\ vm[n].lists /\ vm[n].receiver /\ Ask(i, "unwait", n, vm[n].uid, HasReceived(n, vm[n].uid))

Granted(i, c) ==
  /\ Write(c)
  /\ req' = [OthersOutdated(i) EXCEPT ![i].pc = "granted", ![i].objectsListing = {}, ![i].fresh = May("returns"),
                                       ![i].seen = IF May("returns") THEN @ ELSE None]
  /\ start' = StartsOutdated("")
  /\ UNCHANGED <<vm, vmi>>

ClaimOf(i) == Made({EntryOf(i)}, req[i].n, req[i].uid)

TryCreate(i) ==
  /\ req[i].pc = "asked"
  /\ IF claim = None \/ ~Has("create as lock") THEN Granted(i, ClaimOf(i))
     ELSE req' = [req EXCEPT ![i].pc = "conflict"] /\ UNCHANGED <<claim, vm, vmi, start, step>>

Read(i) ==
  /\ req[i].pc = "conflict"
  /\ req' = [req EXCEPT ![i].pc = "read", ![i].seen = claim]
  /\ UNCHANGED <<claim, vm, vmi, start, step>>

Ended(i, pc) == [req[i] EXCEPT !.pc = pc, !.objectsListing = {}, !.seen = None, !.fresh = FALSE]

WriteGrant(i) ==
  /\ req[i].pc = "read"
  /\ LET seen == req[i].seen
         decision == IF seen = None /\ req[i].objectsListing = {} THEN ClaimOf(i)
                     ELSE Decide(i, IF seen = None THEN Unclaimed ELSE seen)
         works == (seen = None) = (claim = None)
     IN IF decision = None THEN req' = [req EXCEPT ![i] = Ended(i, "dropped")] /\ UNCHANGED <<claim, vm, vmi, start, step>>
        ELSE IF works THEN Granted(i, decision)
        ELSE req' = [req EXCEPT ![i].pc = "conflict", ![i].seen = None] /\ UNCHANGED <<claim, vm, vmi, start, step>>

(* Another interface of the object was refused. *)
GiveBack(i) ==
  /\ req[i].pc = "granted" /\ req[i].fresh /\ claim # None
  /\ Write(IF req[i].seen = None THEN None ELSE [req[i].seen EXCEPT !.made = Again])
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
       [] r.kind = "add" -> /\ vm[r.n] = [uid |-> r.uid, lists |-> FALSE, receiver |-> r.receiver]
                            /\ vm' = [vm EXCEPT ![r.n].lists = TRUE]
       [] OTHER -> /\ vm[r.n] = [uid |-> r.uid, lists |-> TRUE, receiver |-> TRUE]
                   /\ vm' = [vm EXCEPT ![r.n].receiver = FALSE]
  /\ req' = [req EXCEPT ![i] = [Ended(i, "stored") EXCEPT !.after = r.kind # "unwait"]]
  /\ UNCHANGED <<claim, vmi, start, step>>

-----------------------------------------------------------------------------
(* What needs no answer of the pool. *)

(* An instance is stored before its VM has changed. The model says what happens if it is not. *)
MayLetGo(n) == Has("prompt starts") => start[n] = None

Delete(n) == vm[n] # None /\ MayLetGo(n) /\ vm' = [vm EXCEPT ![n] = None] /\ UNCHANGED <<claim, vmi, req, start, step>>
GiveUp(n) ==
  /\ May("updates")
  /\ vm[n] # None /\ vm[n].lists /\ MayLetGo(n)
  /\ vm' = [vm EXCEPT ![n].lists = FALSE] /\ UNCHANGED <<claim, vmi, req, start, step>>
(* An update that makes a VM wait is not judged, and one that ends it by what the VM lists: that is nothing here. *)
Turn(n) ==
  /\ May("turns")
  /\ vm[n] # None /\ (vm[n].receiver => ~vm[n].lists)
  /\ vm' = [vm EXCEPT ![n].receiver = ~@] /\ UNCHANGED <<claim, vmi, req, start, step>>
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
  \/ claim # None /\ Cardinality(claim.owners) > 1 /\ \E o \in claim.owners : o.receiver

ReadForStart(n) ==
  /\ start[n] # None /\ start[n].pc = "asked"
  /\ \E objectsListing \in ObjectsListing(n) :
       LET found == WithObjectsListing(IF claim = None THEN Unclaimed ELSE claim, objectsListing)
           isNobodys == found.owners = {} /\ (claim # None \/ ~Has("unclaimed noted"))
       IN start' = IF ~Has("start gate") \/ ~IsExclusive \/ isNobodys THEN [start EXCEPT ![n].pc = "judged"]
                   ELSE [start EXCEPT ![n].pc = "read", ![n].seen = found, ![n].absent = claim = None]
  /\ UNCHANGED <<claim, vm, vmi, req, step>>

MayWait(n) ==
  /\ start[n].waits
  /\ \E o \in start[n].seen.owners : o.receiver /\ o.n = n
  /\ vm[n] # None /\ vm[n].uid = start[n].uid /\ vm[n].receiver
IsRunning(o) == vmi[o.n] # None /\ vmi[o.n].on
IsStarting(o) == o.starting /\ start[o.n] # None /\ start[o.n].pc = "judged"
Judged(n) == [start EXCEPT ![n].pc = "judged", ![n].seen = None, ![n].absent = FALSE]

CheckStart(n) ==
  /\ start[n] # None /\ start[n].pc = "read"
  /\ LET others == {o \in start[n].seen.owners : o.n # n}
     IN start' = IF MayWait(n) THEN Judged(n)
                 ELSE IF \E o \in others : IsRunning(o) \/ IsStarting(o) THEN [start EXCEPT ![n] = None]
                 ELSE [start EXCEPT ![n].pc = "checked"]
  /\ UNCHANGED <<claim, vm, vmi, req, step>>

NoteStart(n) ==
  /\ start[n] # None /\ start[n].pc = "checked"
  /\ LET owners == start[n].seen.owners
         known == IF n \in Named(owners) THEN owners ELSE owners \cup {Entry(n, FALSE)}
         noted == {IF o.n = n THEN [o EXCEPT !.starting = TRUE] ELSE o : o \in known}
         works == IF start[n].absent THEN claim = None ELSE claim # None
     IN IF ~Has("start noted") THEN start' = Judged(n) /\ UNCHANGED <<claim, req, step>>
        ELSE IF ~works THEN start' = [start EXCEPT ![n].pc = "asked", ![n].seen = None, ![n].absent = FALSE]
                            /\ UNCHANGED <<claim, req, step>>
        ELSE /\ Write([(IF claim = None THEN Unclaimed ELSE claim) EXCEPT !.phase = "Allocated", !.owners = noted])
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
(* The leader: claims/lifecycle.ts, cluster/live-owners.ts. *)

Begin(l) ==
  /\ step[l] = None /\ claim # None
  /\ \E sighted \in SUBSET ({s.n : s \in ObservedOwners} \ Named(claim.owners)),
       isAwaited \in {TRUE} \cup (IF MayBeOver \/ HasCome(claim) THEN {FALSE} ELSE {}) :
       step' = [step EXCEPT ![l] = [seen |-> claim, isAwaited |-> isAwaited, todo |-> Named(claim.owners) \cup sighted,
                                    at |-> "", holders |-> {}]]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

(* A claim is made from the caches. Who is named in it and gone is found out when its deletion is seen. *)
Adopt(l) ==
  /\ step[l] = None /\ claim = None
  /\ \E sighted \in SUBSET ObservedOwners \ {{}} :
       /\ OneOfEach(sighted)
       /\ LET holders == {[n |-> s.n, receiver |-> IF s.receiver THEN "yes" ELSE "no"] : s \in sighted}
          IN step' = [step EXCEPT ![l] = [seen |-> None, isAwaited |-> FALSE, todo |-> {}, at |-> "", holders |-> holders]]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

(* Without the live read a cache answers, which may not show the object yet. *)
Shown(object) == IF Has("live read") THEN {object} ELSE {object, None}

InMachine(n, machine) == [n |-> n, receiver |-> IF machine.receiver THEN "yes" ELSE "no"]
(* An instance does not tell whether its VM waits. *)
InInstance(n) == [n |-> n, receiver |-> "?"]

FoundIn(n) ==
  IF vm[n] # None /\ vm[n].lists THEN {InMachine(n, vm[n])} ELSE IF vmi[n] # None THEN {InInstance(n)} ELSE {}

ReadAll(l) ==
  LET s == step[l] IN
  /\ ~May("torn") /\ s # None /\ s.todo # {}
  /\ \E shown \in IF Has("live read") THEN {s.todo} ELSE SUBSET s.todo :
       step' = [step EXCEPT ![l].todo = {}, ![l].holders = UNION {FoundIn(n) : n \in shown}]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

ReadVm(l, n) ==
  LET s == step[l] IN
  /\ May("torn") /\ s # None /\ s.at = "" /\ n \in s.todo
  /\ \E seen \in Shown(vm[n]) :
       LET lists == seen # None /\ seen.lists
       IN step' = [step EXCEPT
            ![l].holders = IF lists THEN @ \cup {InMachine(n, seen)} ELSE @,
            ![l].at = IF lists THEN "" ELSE n,
            ![l].todo = IF lists THEN @ \ {n} ELSE @]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

ReadInstance(l) ==
  LET s == step[l] IN
  /\ s # None /\ s.at # ""
  /\ \E seen \in Shown(vmi[s.at]) :
       step' = [step EXCEPT
         ![l].holders = IF seen = None THEN @ ELSE @ \cup {InInstance(s.at)},
         ![l].at = "", ![l].todo = @ \ {s.at}]
  /\ UNCHANGED <<claim, vm, vmi, req, start>>

Refreshed(o, h, isAlone) == [o EXCEPT !.receiver =
  IF h.receiver = "no" /\ isAlone THEN FALSE ELSE h.receiver = "yes" \/ (@ /\ Has("mark kept"))]

OwnersAfter(owners, holders, isAwaited) ==
  LET isAlone == Cardinality(owners) = 1
      found(o) == {h \in holders : h.n = o.n}
      kept == {o \in owners : isAwaited /\ found(o) = {}}
              \cup UNION {{Refreshed(o, h, isAlone) : h \in found(o)} : o \in owners}
  IN kept \cup {Entry(h.n, h.receiver = "yes") : h \in {g \in holders : g.n \notin Named(owners)}}

(* What becomes of the claim. An address that nobody ever had does not rest. *)
NextSteps(s) ==
  IF s.seen = None THEN {Allocated(OwnersAfter({}, s.holders, FALSE))}
  ELSE LET owners == OwnersAfter(s.seen.owners, s.holders, s.isAwaited)
       IN IF owners = s.seen.owners /\ owners # {} THEN {s.seen}
          ELSE IF owners # {} THEN {[s.seen EXCEPT !.phase = "Allocated", !.owners = owners]}
          ELSE IF s.seen.phase = "Quarantined" THEN {None} ELSE {Quarantined, None}

WriteStep(l) ==
  LET s == step[l]
      works == (s.seen = None) = (claim = None)
  IN /\ s # None /\ s.todo = {}
     /\ \E next \in NextSteps(s) :
          IF next = s.seen \/ ~works THEN step' = [step EXCEPT ![l] = None] /\ UNCHANGED <<claim, req, start>>
          ELSE /\ claim' = next
               /\ step' = [k \in Leaders |-> IF k = l THEN None
                            ELSE IF Has("version") /\ step[k] # None /\ step[k].seen # None THEN None ELSE step[k]]
               /\ req' = OthersOutdated(0)
               /\ start' = StartsOutdated("")
     /\ UNCHANGED <<vm, vmi>>

-----------------------------------------------------------------------------

Free == [pc |-> "free", kind |-> "", n |-> "", uid |-> NoUid, receiver |-> FALSE, objectsListing |-> {}, seen |-> None, fresh |-> FALSE,
         after |-> FALSE]

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
       \/ Delete(n) \/ GiveUp(n) \/ Turn(n) \/ Stop(n)
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

(* The VM has received a migration, and beside it may be the one that it was. *)
WasReceived(uid) == \E i \in Requests : IsStored(i) /\ req[i].kind = "unwait" /\ req[i].uid = uid /\ req[i].receiver
(* Under Deny one VM has the address, or is about to have it; except for receivers. *)
Holds(n) ==
  \/ \E i \in Requests : UnderWay(i) /\ req[i].n = n /\ ~req[i].receiver
  \/ vm[n] # None /\ vm[n].lists /\ ~vm[n].receiver /\ ~WasReceived(vm[n].uid)
  \/ vmi[n] # None /\ vmi[n].on /\ ~vmi[n].received /\ ~WasReceived(vmi[n].uid)
OneHolds == Policy = "Deny" => Cardinality({n \in Names : Holds(n)}) <= 1

IsNamed(n) == claim # None /\ claim.phase # "Quarantined" /\ n \in Named(claim.owners)
(* Who was admitted with the address is named by the claim. *)
Claimed ==
  /\ \A i \in Requests : UnderWay(i) => IsNamed(req[i].n)
  /\ \A n \in Names :
       /\ vm[n] # None /\ vm[n].lists /\ vm[n].uid # OldUid => IsNamed(n)
       /\ vmi[n] # None /\ vmi[n].uid # OldUid => IsNamed(n)
=============================================================================
